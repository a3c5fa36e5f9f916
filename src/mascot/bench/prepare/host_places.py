"""Places of many hosts, found a few at a time and journaled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from itertools import islice

from mascot.bench.prepare.common import Progress
from mascot.bench.prepare.journal import Journal
from mascot.bench.prepare.lost import NO_ANSWER
from mascot.bench.prepare.resolvers import Location, Resolver
from mascot.errors import InputError

_CHUNK = 100  # hosts that are located together, and that a kill loses
_DOWN = 10  # hosts never tried before, none of which has an answer: the network is down


class Places:
    """Locations of hosts by name. What had no answer is tried once more in every run; the rest is final."""

    def __init__(self, resolver: Resolver, journal: Journal, report: Progress) -> None:
        self._resolver, self._journal, self._report = resolver, journal, report
        self._before = set(journal.known)
        self.known = {host: Location(**told) for host, told in journal.known.items() if told["lost"] != NO_ANSWER}

    def of(self, hosts: Iterable[str]) -> dict[str, Location]:
        """What is known of these."""
        return {host: self.known[host] for host in hosts}

    def reach(self, hosts: Sequence[str], wanted: int | None) -> int:
        """How many of the hosts, from the first on, it takes to have `wanted` with a place; all if there are fewer."""
        count = 0
        unique = list(dict.fromkeys(hosts))
        ahead = iter(unique)
        for number, host in enumerate(hosts, 1):
            while host not in self.known:
                self._locate(list(islice((name for name in ahead if name not in self.known), _CHUNK)))
                self._report(sum(name in self.known for name in unique), len(unique))
            count += self.known[host].lost is None
            if count == wanted:
                return number
        return len(hosts)

    def _locate(self, hosts: Sequence[str]) -> None:
        found = self._resolver.locate(hosts)
        new = [host for host in hosts if host not in self._before]
        if len(new) >= _DOWN and all(found[host].lost == NO_ANSWER for host in new):
            raise InputError(
                f"none of {len(new)} hosts could be located, such as {new[0]}, for want of an answer; "
                "is the network up? Run the same command again to go on from here"
            )
        for host in hosts:
            self._journal.put(host, asdict(found[host]))
            self.known[host] = found[host]
