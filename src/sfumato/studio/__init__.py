"""The studio: see, decide and publish in a browser, on your own machine.

Everything it does is the library; the studio has no logic of its own about privacy.

    guard       who may talk to it: host, origin, token, cookie, limits; plain ASGI in front of everything
    workspace   the private folder with random names, removed at the end and at the next start
    uploads     receiving a file
    job, jobs   the job of one window, and all of them: plain Python, without NiceGUI
    steps       the list of pages, in order
    frame       what all pages have: bar, steps, the policy so far
    widgets     pieces of pages: text, heading, card, banner, figures, primary, quiet, later, in_thread
    pages/      one module per page with ``render(job)``
    app         routes and pages as one application
    server      start and end: `serve`

How a page is written. Add a module to ``pages/`` with ``render(job: Job) -> None`` and a line to `steps.STEPS`;
``lacks`` says why it cannot be shown yet. A page renders what the job says; it changes the policy by
`Job.set_attribute` and `Job.set_section`, and everything else is a call of the library. What takes longer than a tenth
of a second runs by ``widgets.later`` (fills a place when done) or ``await widgets.in_thread(...)`` (in a handler);
errors are shown by ``banner(explained(error), "bad")``. A page ends with ``frame.next_step(job, "its key")``. Text of
the data goes in by ``widgets.text``, which escapes it. Tailwind is off: classes are those of ``static/studio.css``,
which has a palette of variables for light and dark. ``Job.extras`` keeps what a page needs between loads of this
window, ``Job.kept(key, make)`` what is valid until the policy changes. The address of a page is ``/w/<random name of
the job>/<key of the page>``, so a reload returns to the same job and two windows have two.

Tests: ``tests/studio/conftest.py`` has the fixtures ``studio`` (a server per module; ``studio.url``) and ``window`` (a
page in Chromium that fails the test on a console error or a request that leaves the machine).
"""
