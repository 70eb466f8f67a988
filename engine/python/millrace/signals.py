"""Signals while the library works."""

import signal
import threading


class Signals:
    """Signals while the library works: their handlers run in its callbacks, and what they raise is kept for the caller.

    Python runs a handler, such as that of Ctrl-C, in the main thread before any of its instructions. During a call of
    the library that would be at the head of a callback, where nothing can catch what the handler raises: ctypes would
    print and forget it.
    """

    def __init__(self):
        self.raised = []  # exceptions
        self._came = []  # signals not handled yet
        self._handlers = {}
        self._in_code = False  # of the user: handlers may raise there

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in signal.valid_signals():
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
            try:
                for number in sorted(self._handlers, key=self._is_not_interrupt):
                    signal.signal(number, self._take)
            except BaseException:
                self._restore()
                raise
        return self

    @staticmethod
    def _is_not_interrupt(number):
        return number != signal.SIGINT

    def _restore(self):
        for number in sorted(self._handlers, key=self._is_not_interrupt, reverse=True):
            signal.signal(number, self._handlers[number])

    def __exit__(self, kind, value, trace):
        self._restore()
        self.poll()
        if kind is None and self.raised:
            raise self.raised[0]

    def _take(self, number, frame):
        if self._in_code:
            self._in_code = False
            self._handlers[number](number, frame)
        else:
            self._came.append((number, frame))

    def poll(self):
        """Run the handlers of the signals that have come; False once something was raised."""
        while self._came:
            number, frame = self._came.pop(0)
            try:
                self._handlers[number](number, frame)
            except BaseException as e:
                self.raised.append(e)
        return not self.raised

    def call(self, function, *arguments):
        """Call a function of the user; False if it raises, which is kept."""
        try:
            self._in_code = True
            result = function(*arguments)
            self._in_code = False
            return result
        except BaseException as e:
            self._in_code = False
            self.raised.append(e)
            return False
