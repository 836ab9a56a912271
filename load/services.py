"""PostgreSQL and Redis of our own for a run, each of which can be killed and started again."""

import os, pathlib, random, shutil, signal, socket, subprocess, sys, time


def free_port():
    """Below the range from which the system takes ports for connections, so that nobody is faster."""
    while True:
        port = random.randint(20000, 30000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


class Services:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(parents=True)
        bins = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name))
        self.bin = (str(bins[-1]) + "/") if bins else ""
        root = os.geteuid() == 0
        self.as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"] if root else []
        (folder / "pg").mkdir(mode=0o700)
        if root:
            top = folder.parent.parent
            for parent in [folder, *folder.parents][:-1]:
                if top in (parent, *parent.parents):
                    parent.chmod(parent.stat().st_mode | 0o011)
            shutil.chown(folder / "pg", "postgres", "postgres")
        log = open(folder / "log", "w")
        self.quiet = {"stdout": log, "stderr": log, "cwd": "/"}
        subprocess.run(self.as_postgres + [self.bin + "initdb", "-D", str(folder / "pg"), "-U", "postgres", "-A", "trust",
                                           "-E", "UTF8", "--locale=C", "-N"], check=True, **self.quiet)
        self.pg, self.redis = free_port(), free_port()
        self.start_postgres()
        self.start_redis()
        self.sql("CREATE DATABASE sales", "postgres")

    def start_postgres(self):
        """Also behind one that was killed, whose children take a moment to notice."""
        for _ in range(20):
            self.begin_postgres()
            for _ in range(300):
                if self.sql("SELECT 1", "postgres", check=False) == "1":
                    return
                if self.postgres.poll() is not None:
                    break
                time.sleep(0.1)
            time.sleep(1)
        raise RuntimeError("PostgreSQL does not start, see %s" % (self.folder / "log"))

    def begin_postgres(self):
        # A killed one leaves its lock file behind.
        (self.folder / "pg" / "postmaster.pid").unlink(missing_ok=True)
        self.postgres = subprocess.Popen(
            self.as_postgres + [self.bin + "postgres", "-D", str(self.folder / "pg"), "-p", str(self.pg), "-c",
                                "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=", "-c", "max_wal_size=64MB",
                                "-c", "min_wal_size=32MB", "-c", "autovacuum_naptime=15s"], **self.quiet)

    def start_redis(self):
        self.redis_server = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.redis), "--save", "", "--dir", str(self.folder),
             "--maxmemory-policy", "noeviction"], **self.quiet)
        for _ in range(100):
            if self.redis_cli("PING") == "PONG":
                return
            time.sleep(0.1)
        raise RuntimeError("Redis does not start, see %s" % (self.folder / "log"))

    def redis_cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.redis), *words], capture_output=True, text=True).stdout.strip()

    def sql(self, query, database="sales", check=True):
        asked = subprocess.run(["psql", "-h", "127.0.0.1", "-p", str(self.pg), "-U", "postgres", "-d", database, "-tAc", query],
                               capture_output=True, text=True)
        if check and asked.returncode:
            sys.exit("psql: " + asked.stderr)
        return asked.stdout.strip()

    def settings(self):
        return {"DATABASE_URL": "postgres://postgres@127.0.0.1:%d/sales" % self.pg,
                "REDIS_URL": "redis://127.0.0.1:%d" % self.redis}

    def stop(self):
        self.postgres.send_signal(signal.SIGQUIT)
        self.redis_server.terminate()
        for process in (self.postgres, self.redis_server):
            process.wait()
