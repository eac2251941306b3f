"""`python -m quizglass_client.cli`."""

import sys

from quizglass_client.cli.command import main

sys.exit(main())
