//! What is under deploy/ holds together, and `make dist` makes what it should. What needs an engine that is not here
//! (containers, a cluster) is checked as far as reading goes; deploy/README.md says so.

use std::path::{Path, PathBuf};
use std::process::Command;

use server::settings::SETTINGS;
use testing::folder::TestFolder;
use testing::process::binary;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn run(command: &mut Command) -> (bool, String) {
    let output = command.current_dir(repository()).output().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.success(), text)
}

#[test]
fn deploy_files_hold_together() {
    let folder = TestFolder::new("deploy");
    let names = folder.path().join("settings");
    let all: Vec<&str> = SETTINGS.iter().map(|setting| setting.name).collect();
    std::fs::write(&names, all.join("\n")).unwrap();
    let (good, text) = run(Command::new("python3").arg("scripts/check-deploy.py").arg(&names));
    assert!(good, "{text}");
    // And it can fail.
    std::fs::write(&names, all.iter().filter(|name| **name != "REDIS_URL").copied().collect::<Vec<_>>().join("\n"))
        .unwrap();
    let (good, text) = run(Command::new("python3").arg("scripts/check-deploy.py").arg(&names));
    assert!(!good && text.contains("REDIS_URL is no setting"), "{text}");
}

/// The schemas come from PyPI, once.
#[test]
fn deploy_files_follow_their_schemas() {
    let (good, text) = run(&mut Command::new("scripts/deploy-schemas.sh"));
    assert!(good && text.contains("10 objects of Kubernetes, 8 services of compose"), "{text}");
    // And it can fail, in each of the three.
    let folder = TestFolder::new("schemas");
    for (file, right, wrong, complaint) in [
        ("compose.yaml", "cap_drop:", "cap_dropped:", "cap_dropped"),
        ("kubernetes/server.yaml", "  replicas:", "  replicaCount:", "replicaCount"),
        ("Dockerfile", "WORKDIR /src", "WORKDIR src", "DL3000"),
    ] {
        let copy = folder.path().join("deploy");
        let (good, text) = run(Command::new("cp").args(["-r", "deploy"]).arg(&copy));
        assert!(good, "{text}");
        let text = read(&format!("deploy/{file}"));
        assert!(text.contains(right), "{file} has no {right}");
        std::fs::write(copy.join(file), text.replace(right, wrong)).unwrap();
        let (good, text) = run(Command::new("scripts/deploy-schemas.sh").env("DEPLOY", &copy));
        assert!(!good && text.contains(complaint), "{file}: {text}");
        std::fs::remove_dir_all(copy).unwrap();
    }
}

/// 10 is the worst.
const EXPOSURE_MOST: f64 = 2.0;

#[test]
fn systemd_units_are_sound_and_confined() {
    for name in ["tickettock.service", "tickettock-gateway.service"] {
        let unit = repository().join("deploy/systemd").join(name);
        let (_, text) = run(Command::new("systemd-analyze").arg("verify").arg(&unit));
        // The binary, its manual and nginx are not installed here.
        let complaints: Vec<&str> = text
            .lines()
            .filter(|line| line.contains(name) && !line.contains("is not executable") && !line.contains("man "))
            .collect();
        assert!(complaints.is_empty(), "{text}");
        let (_, text) = run(Command::new("systemd-analyze").args(["security", "--offline=true"]).arg(&unit));
        let level = text.lines().find_map(|line| line.split(&format!("exposure level for {name}: ")).nth(1));
        let level: f64 =
            level.and_then(|rest| rest.split(' ').next()).unwrap_or_else(|| panic!("{text}")).parse().unwrap();
        assert!(level < EXPOSURE_MOST, "{text}");
    }
}

#[test]
fn alerts_fire_when_they_should() {
    let rules = repository().join("deploy/prometheus");
    for arguments in [["check", "rules", "rules.yml"], ["test", "rules", "rules.test.yml"]] {
        let output = Command::new("promtool").args(arguments).current_dir(&rules).output().unwrap();
        assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), {
            String::from_utf8_lossy(&output.stderr)
        });
    }
    let (rules, tests) = (read("deploy/prometheus/rules.yml"), read("deploy/prometheus/rules.test.yml"));
    for line in rules.lines() {
        if let Some(name) = line.trim().strip_prefix("- alert: ") {
            assert!(tests.contains(&format!("name: {name} fires")), "{name} has no test");
        }
        if let Some(page) = line.trim().strip_prefix("runbook_url: ") {
            assert!(repository().join(page).exists(), "{page} is not there");
        }
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(repository().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

#[test]
fn heavy_package_has_what_it_should() {
    let folder = TestFolder::new("dist");
    let (out, root) = (folder.path().join("out"), folder.path().join("root"));
    let program = binary().get_program().to_owned();
    let (good, text) = run(Command::new("scripts/dist.sh").env("BINARY", &program).env("OUT", &out).env("LEVEL", "1"));
    assert!(good, "{text}");
    let checked = Command::new("sha256sum").args(["-c", "SHA256SUMS"]).current_dir(&out).output().unwrap();
    assert!(checked.status.success());
    let file = |ending: &str| {
        let mut files = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
        files.find(|path| path.to_str().unwrap().ends_with(ending)).unwrap_or_else(|| panic!("no {ending} in {out:?}"))
    };
    let (good, text) = run(Command::new("dpkg-deb").arg("-x").arg(file(".deb")).arg(&root));
    assert!(good, "{text}");
    for path in [
        "usr/bin/tickettock",
        "usr/lib/systemd/system/tickettock.service",
        "usr/lib/systemd/system/tickettock-gateway.service",
        "etc/tickettock/tickettock.toml",
        "usr/share/man/man1/tickettock-serve.1.gz",
        "usr/share/bash-completion/completions/tickettock",
    ] {
        assert!(root.join(path).exists(), "{path}");
    }
    let (good, control) = run(Command::new("dpkg-deb").arg("-f").arg(file(".deb")));
    assert!(good, "{control}");
    for field in ["Package: tickettock", "Maintainer: ", "Section: net", "Installed-Size: ", "Depends: "] {
        let filled = control.lines().any(|line| line.starts_with(field) && !line.ends_with(' '));
        assert!(filled, "{field} in {control}");
    }
    let scripts = folder.path().join("control");
    let (good, text) = run(Command::new("dpkg-deb").arg("-e").arg(file(".deb")).arg(&scripts));
    assert!(good, "{text}");
    let conffiles = std::fs::read_to_string(scripts.join("conffiles")).unwrap();
    assert_eq!(conffiles.trim(), "/etc/tickettock/tickettock.toml", "an upgrade keeps what somebody changed");
    for script in ["preinst", "postinst", "prerm", "postrm"] {
        let text = std::fs::read_to_string(scripts.join(script)).unwrap();
        assert_eq!(text, read(&format!("deploy/debian/{script}")));
    }
    // The settings that it installs are valid, and the binary of the package runs.
    let settings = root.join("etc/tickettock/tickettock.toml");
    let (good, text) = run(Command::new(root.join("usr/bin/tickettock")).args(["config", "--config"]).arg(settings));
    assert!(good && text.contains("127.0.0.1:5900"), "{text}");
    let bom: serde_json::Value = serde_json::from_slice(&std::fs::read(file(".cdx.json")).unwrap()).unwrap();
    let components = bom["components"].as_array().unwrap();
    assert!(bom["bomFormat"] == "CycloneDX" && components.iter().any(|one| one["name"] == "rusqlite"), "{bom}");
    assert!(!components.iter().any(|one| one["name"] == "proptest"), "what only tests need is not in the binary");
}

#[test]
fn tls_example_for_nginx_is_valid() {
    let folder = TestFolder::new("tls");
    let (key, cert) = (folder.path().join("key.pem"), folder.path().join("cert.pem"));
    let mut made = Command::new("openssl");
    made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]);
    let (good, text) = run(made.args(["-subj", "/CN=tickets.example", "-keyout"]).arg(&key).arg("-out").arg(&cert));
    assert!(good, "{text}");
    let path = |file: &Path| file.display().to_string();
    let live = "/etc/letsencrypt/live/tickets.example";
    let config = read("deploy/tls/nginx.conf")
        .replace(&format!("{live}/fullchain.pem"), &path(&cert))
        .replace(&format!("{live}/privkey.pem"), &path(&key))
        .replace("/run/nginx-tickettock.pid", &path(&folder.path().join("pid")))
        .replace("443", &testing::free_port().to_string());
    let file = folder.path().join("nginx.conf");
    std::fs::write(&file, config).unwrap();
    let nginx = if Path::new("/usr/sbin/nginx").exists() { "/usr/sbin/nginx" } else { "openresty" };
    let (good, text) = run(Command::new(nginx).arg("-t").arg("-p").arg(folder.path()).arg("-c").arg(&file));
    assert!(good, "{text}");
}

#[test]
fn tls_example_for_caddy_is_valid() {
    let folder = TestFolder::new("caddy");
    let validate = |config: &Path| {
        let mut caddy = Command::new("caddy");
        caddy.args(["validate", "--adapter", "caddyfile", "--config"]).arg(config);
        // It keeps certificates at home.
        run(caddy.env("HOME", folder.path()).env("XDG_DATA_HOME", folder.path()))
    };
    let (good, text) = validate(&repository().join("deploy/tls/Caddyfile"));
    assert!(good, "{text}");
    let wrong = folder.path().join("Caddyfile");
    std::fs::write(&wrong, read("deploy/tls/Caddyfile").replace("flush_interval", "flush_sometimes")).unwrap();
    assert!(!validate(&wrong).0, "what is no directive is found");
}
