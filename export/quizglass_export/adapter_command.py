"""`quizglass-export adapter`: a PEFT adapter as a GGUF LoRA beside a base that is not merged."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

HELP = "write a PEFT adapter of a generator as a GGUF LoRA file"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the flags."""
    parser.add_argument("--checkpoint", type=Path, required=True, help="the base that it was trained on")
    parser.add_argument("--adapter", type=Path, required=True, help="the adapter, as PEFT saves it")
    parser.add_argument("--weight", type=float, default=1.0, help="its scale (default: %(default)s)")
    parser.add_argument("--out", type=Path, required=True, help="GGUF file to write")
    parser.add_argument("--replace", action="store_true", help="replace an existing file")


def run(args: argparse.Namespace) -> int:
    """Write the file. Returns 0, or 2 when the adapter cannot be written."""
    from quizglass_export.checkpoints.files import ADAPTER_CONFIG, ADAPTER_WEIGHTS, CONFIG, read_json
    from quizglass_export.checkpoints.loading import read_config
    from quizglass_export.checkpoints.peft_models import check_fit
    from quizglass_export.checkpoints.source import Source
    from quizglass_export.errors import ExportError
    from quizglass_export.gguf.lora import check_language_model, write_lora_gguf
    from quizglass_export.roles.generator import GENERATOR_CLASSES

    scratch = args.out.with_name(f".{args.out.name}.new")
    try:
        for path in (args.checkpoint / CONFIG, args.adapter / ADAPTER_CONFIG, args.adapter / ADAPTER_WEIGHTS):
            if not path.is_file():
                raise ExportError(f"{path}: missing")
        if not math.isfinite(args.weight) or args.weight == 0:
            raise ExportError(f"--weight {args.weight:g}: must be a number other than 0")
        kind = read_json(args.checkpoint / CONFIG).get("model_type")
        check_language_model(kind)
        check_fit(Source(args.checkpoint).bare(GENERATOR_CLASSES[str(kind)]), args.adapter)
        if args.out.exists() and not args.replace:
            raise ExportError(f"{args.out}: already exists; choose another file, or pass --replace")
        config = read_config(args.checkpoint)
        count = write_lora_gguf(config, args.adapter, scratch, weight=args.weight)
        scratch.replace(args.out)
    except (ExportError, OSError) as error:
        print(f"quizglass-export adapter: {error}", file=sys.stderr)
        return 2
    finally:
        scratch.unlink(missing_ok=True)
    print(f"{args.out}: {count} matrices, {args.out.stat().st_size:,} bytes")
    return 0
