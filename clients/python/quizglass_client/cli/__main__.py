"""`python -m quizglass_client.cli`."""

import sys

from quizglass_client.cli import main

sys.exit(main())
