"""Follows every link inside the built manual. A link to a file of the repository that is no page of the manual becomes
a link to the repository. Prints what leads nowhere; exit 1 if there is any.
Usage: scripts/book-links.py BOOK
"""
import glob
import os
import re
import sys
from urllib.parse import unquote

book = sys.argv[1]
source = "docs"
text = open("book.toml").read()
repository = re.search(r'git-repository-url = "(.*)"', text).group(1) + "/blob/main/"
complaints, checked, outside = [], 0, 0
anchors = {}


def anchors_of(page):
    if page not in anchors:
        anchors[page] = set(re.findall(r'\sid="([^"]+)"', open(page).read()))
    return anchors[page]


# print.html is all pages once more, and toc.html only the frame of them.
pages = [page for page in glob.glob(f"{book}/**/*.html", recursive=True)
         if os.path.basename(page) not in ("print.html", "toc.html", "404.html")]
for page in sorted(pages):
    folder = os.path.dirname(os.path.relpath(page, book))
    html = open(page).read()

    def follow(match):
        global checked, outside
        link = match.group(1)
        if re.match(r"[a-z]+:|//|data:", link):
            return match.group(0)
        checked += 1
        path, _, anchor = link.partition("#")
        path, anchor = unquote(path), unquote(anchor)
        target = os.path.normpath(os.path.join(book, folder, path)) if path else page
        if os.path.isfile(target):
            if anchor and target.endswith(".html") and anchor not in anchors_of(target):
                complaints.append(f"{page}: {link}: no such heading")
            return match.group(0)
        # mdBook has made .html of .md, also where it has no such page.
        there = os.path.normpath(os.path.join(source, folder, path))
        for file in [re.sub(r"\.html$", ".md", there), there]:
            if os.path.exists(file) and not file.startswith(".."):
                outside += 1
                return f'href="{repository}{file}{"#" + anchor if anchor else ""}"'
        complaints.append(f"{page}: {link} leads nowhere")
        return match.group(0)

    new = re.sub(r'href="([^"]*)"', follow, html)
    if new != html:
        open(page, "w").write(new)
for complaint in complaints:
    print(complaint)
print(f"{len(pages)} pages, {checked} links, {outside} of them to the repository")
sys.exit(1 if complaints else 0)
