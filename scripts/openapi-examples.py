"""Checks every example of the committed OpenAPI documents against the schema beside it.

    python3 scripts/openapi-examples.py openapi/*.yaml

Needs jsonschema_rs and PyYAML, which come with schemathesis (scripts/schemathesis.sh).
"""

import sys

import jsonschema_rs
import yaml


def contents(document):
    for path, item in document["paths"].items():
        for method, operation in item.items():
            name = f"{method.upper()} {path}"
            for kind, content in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{name}, request", content
            for status, answer in operation["responses"].items():
                for kind, content in answer.get("content", {}).items():
                    yield f"{name}, {status}", content


def main():
    checked, broken = 0, []
    for file in sys.argv[1:]:
        with open(file, encoding="utf-8") as text:
            document = yaml.safe_load(text)
        for name, content in contents(document):
            examples = [one["value"] for one in content.get("examples", {}).values()]
            if "example" in content:
                examples.append(content["example"])
            schema = dict(content.get("schema", {}), components=document["components"])
            validator = jsonschema_rs.Draft202012Validator(schema)
            for example in examples:
                checked += 1
                broken += [f"{file}: {name}: {error.message} in {example}" for error in validator.iter_errors(example)]
    print("\n".join(broken[:20]))
    print(f"{checked} examples, {len(broken)} do not match")
    sys.exit(1 if broken or checked == 0 else 0)


if __name__ == "__main__":
    main()
