"""`augury studio`: the page served until Ctrl-C."""

from __future__ import annotations

import webbrowser

from augury.cli.trouble import UsageError, of_the_system
from augury.studio.server import server


def serve(port: int, *, browser: bool) -> None:
    """Serve the page on the loopback, and open it."""
    try:
        serving = server(port)
    except OSError as error:
        raise UsageError(f"port {port}: {of_the_system(error)}; --port 0 takes one that is free") from None
    address = f"http://127.0.0.1:{serving.server_address[1]}/"
    print(f"Augury studio is at {address} for this machine; Ctrl-C ends it.", flush=True)
    if browser:
        webbrowser.open(address)
    with serving:
        serving.serve_forever()
