"""The `amem` command; this module says what to install if its packages are missing."""

import io
import sys


def main() -> None:
    """Entry point of `amem`; without typer and rich it says how to install them, exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A pipe or an old console may not know every character of what is stored.
            stream.reconfigure(errors="replace")
    try:
        from amem_integrations.cli.app import app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("typer", "rich"):
            raise
        sys.stderr.write(
            'The amem command needs two more packages: pip install "amem-integrations[cli]"\n'
        )
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    app(prog_name="amem")
