"""The `amem` command. This module only finds out whether its two packages are installed.

`app` puts the commands together: `notes` and `settling` have those of a user, `tending`, `moving`
and `work` those of an operator, `options` what they have in common, `piped` what they read.
`render` and `progress` say what a terminal shows, `shapes` what JSON; `usage`, `health`; `plots`
pictures, `view` pages; `demo` the demonstration, `conversation` its data; `eval` and `eval_…` what
measures, `eval_table` its tables; `stranger` an embedder that only Python can have.
"""

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
