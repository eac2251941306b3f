"""`make test-image` on a machine that cannot build images: it says what is missing, and nothing fails."""

import shutil
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "deploy" / "image" / "test.sh"


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    for tool in ("bash", "dirname", "id"):
        (tmp_path / tool).symlink_to(shutil.which(tool) or "")
    done = subprocess.run(
        [SCRIPT, tmp_path / "none"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    first, *reasons = done.stdout.splitlines()
    assert first == "Left out: make test-image"
    assert "  buildah is not installed: apt install buildah" in reasons
    assert "  debootstrap is not installed: apt install debootstrap" in reasons
    assert f"  {tmp_path / 'none'} is no bundle: make demo builds it" in reasons
