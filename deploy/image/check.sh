#!/usr/bin/env bash
# Starts the image that build.sh made as its Dockerfile says (its user, its entry point, a read-only root), with a bundle:
# adds a note, asks about it, checks its health, and stops it. Says how large image and bundle are, and what it took.
# Usage: deploy/image/check.sh [BUNDLE]        needs root and buildah, as build.sh does
set -euo pipefail
cd "$(dirname "$0")/../.."
bundle=$(realpath "${1:-work/demo/quotes}")
export BUILDAH_ISOLATION=chroot
container=$(buildah from localhost/quizglass)
scratch=$(mktemp --directory)
finish() {
    buildah umount "$container" >/dev/null
    buildah rm "$container" >/dev/null
    rm --recursive --force "$scratch"
}
trap finish EXIT
root=$(buildah mount "$container")
buildah inspect --type image localhost/quizglass >"$scratch/image.json"

# With names, processes and a network of its own, which end with it.
unshare --mount --pid --net --fork --kill-child python3 - "$root" "$bundle" "$scratch" <<'INSIDE'
import json, os, subprocess, sys, time
from pathlib import Path

MOST_MB = 700
ASKED = "How often is the aloe watered?"
root, bundle, scratch = map(Path, sys.argv[1:])
config = json.loads((scratch / "image.json").read_text())["Docker"]["config"]
user = config["User"]
assert user and not user.startswith("0"), f"the image runs as {user or 'root'}"


def size(folder):
    files = (each.lstat() for each in folder.rglob("*") if each.is_file() or each.is_symlink())
    return sum({(each.st_dev, each.st_ino): each.st_size for each in files}.values())


sizes = [size(folder) / 1e6 for folder in (root, bundle)]
assert sum(sizes) <= MOST_MB, f"image and bundle have {sum(sizes):.0f} MB, more than {MOST_MB}"


def mount(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)


subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
inside = scratch / "root"
inside.mkdir()
(scratch / "knowledge").mkdir()
os.chown(scratch / "knowledge", *map(int, user.split(":")))
(root / "bundle").mkdir(exist_ok=True)
mount("--bind", root, inside)
mount("--bind", bundle, inside / "bundle")
mount("--bind", scratch / "knowledge", inside / "knowledge")
mount("--types", "tmpfs", "none", inside / "tmp")
mount("--types", "proc", "none", inside / "proc")
mount("--rbind", "/dev", inside / "dev")
for folder in ("", "bundle"):
    mount("--options", "remount,bind,ro", inside / folder)
environment = dict(each.split("=", 1) for each in config["Env"])


def begun(*command, **how):
    return subprocess.Popen(["chroot", f"--userspec={user}", inside, *command], env=environment, text=True, **how)


def done(*command):
    process = begun(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = process.communicate(timeout=120)[0]
    return process.returncode, said


began = time.monotonic()
server = begun(*config["Entrypoint"], "--log-format", "json", stdout=subprocess.PIPE)
ready = json.loads(server.stdout.readline() or "{}")
assert ready.get("event") == "ready", "the server ended before it was ready; its log is above"
started_s = time.monotonic() - began
assert done("quizglass", "health")[0] == 0
assert done(*config["Healthcheck"]["Test"][1:])[0] == 0
assert done("touch", "/opt/quizglass/x", "/bundle/x")[0] != 0, "its root can be written to"
assert done("id", "-u")[1].strip() == user.partition(":")[0]
note = "The aloe on the window sill is watered every three weeks."
for command in (["knowledge", "add", "--title", "Aloe", "--text", note], ["ask", "-", ASKED]):
    status, said = done("quizglass", *command)
    print(f"quizglass {command[0]}: {' '.join(said.split())[:300]}")
    assert status == 0
assert "three weeks" in said, "that is no answer"
server.terminate()
assert server.wait(60) == 0
print(f"image {sizes[0]:.0f} MB, bundle {sizes[1]:.0f} MB; ready after {started_s:.1f} s as user {user}, root read-only; "
      f"contained by {ready['contained']}")
INSIDE
