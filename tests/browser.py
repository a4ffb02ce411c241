"""A headless Chromium, spoken to over a pipe: type, click, look, take a picture. No driver, no port, nothing from a registry."""

import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


MOVED = """
import fcntl, os, sys
read, write = (fcntl.fcntl(int(n), fcntl.F_DUPFD, 10) for n in sys.argv[1:3])
os.dup2(read, 3)
os.dup2(write, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page in a browser of its own."""

    def __init__(self, width=1280, height=900):
        self.folder = tempfile.TemporaryDirectory(prefix="augury-browser-", ignore_cleanup_errors=True)
        to_browser, self.write = os.pipe()
        self.read, from_browser = os.pipe()
        words = [
            *(
                CHROMIUM,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-first-run",
                "--disable-gpu",
                "--no-sandbox",
            ),
            *(
                "--disable-dev-shm-usage",
                "--disable-background-networking",
                "--disable-component-update",
                "--mute-audio",
            ),
            *(
                f"--user-data-dir={self.folder.name}",
                f"--window-size={width},{height}",
                "--proxy-server=direct://",
                "about:blank",
            ),
        ]
        # The browser reads commands from its file descriptor 3 and writes to 4.
        self.process = subprocess.Popen(
            [sys.executable, "-c", MOVED, str(to_browser), str(from_browser), *words],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self.numbers = itertools.count(1)
        self.buffer = b""
        self.errors = []
        self.session = None
        page = next(t for t in self.ask("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        self.ask("Runtime.enable")
        self.ask("Page.enable")
        self.size(width, height)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(20)
        os.close(self.read)
        os.close(self.write)
        self.folder.cleanup()

    def ask(self, method, **params):
        """One command, and its answer."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        os.write(self.write, json.dumps(message).encode() + b"\0")
        while True:
            said = self.next_message()
            if said.get("id") == number:
                assert "error" not in said, said
                return said["result"]

    def next_message(self, seconds=60):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], seconds)
            assert ready, "the browser does not answer"
            part = os.read(self.read, 1 << 20)
            assert part, "the browser is gone"
            self.buffer += part
        line, _, self.buffer = self.buffer.partition(b"\0")
        said = json.loads(line)
        if said.get("method") == "Runtime.exceptionThrown":
            self.errors.append(said["params"]["exceptionDetails"].get("exception", {}).get("description"))
        if said.get("method") == "Runtime.consoleAPICalled" and said["params"]["type"] == "error":
            self.errors.append(str(said["params"]["args"]))
        return said

    def size(self, width, height):
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def open(self, address):
        self.ask("Page.navigate", url=address)

    def value(self, expression):
        """What a JavaScript expression gives."""
        said = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in said, said
        return said["result"].get("value")

    def wait(self, expression, seconds=40):
        """Until the expression is true."""
        end = time.monotonic() + seconds
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}; {self.errors}"
            time.sleep(0.05)

    def type(self, text):
        """As from a keyboard, into what has the focus."""
        self.ask("Input.insertText", text=text)

    def click(self, selector):
        """A click in the middle of the first element that fits."""
        x, y = self.value(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, path):
        """All of the page."""
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(shot["data"]))
