"""Read the XMP packet, which programs write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import fromstring

from mascot.photos.metadata import validate
from mascot.photos.metadata.validate import Implausible, Moment

_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
_PREFIXES = {
    "{http://purl.org/dc/elements/1.1/}": "dc",
    "{http://ns.adobe.com/xap/1.0/}": "xmp",
    "{http://ns.adobe.com/exif/1.0/}": "exif",
    "{http://ns.adobe.com/exif/1.0/aux/}": "aux",
    "{http://cipa.jp/exif/1.0/}": "exifEX",
    "{http://ns.adobe.com/tiff/1.0/}": "tiff",
    "{http://ns.adobe.com/photoshop/1.0/}": "photoshop",
}
_COORDINATE = re.compile(r"(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?(?:,(\d+(?:\.\d+)?))?\s*([NSEW])", re.I)
_SIGNED = re.compile(r"[+-]?\d+(?:\.\d+)?(?:e-?\d+)?")
LONGEST_PACKET = 4 << 20  # bytes


@dataclass(frozen=True, slots=True)
class Xmp:
    """The properties of a packet by their usual prefixes, as in `dc:title`. Methods raise `Implausible`."""

    properties: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def text(self, name: str) -> str | None:
        """Return the first value of a property, cleaned."""
        return validate.clean(self.properties[name][0]) if name in self.properties else None

    def moment(self, name: str) -> Moment | None:
        return validate.moment(self.text(name))

    def place(self) -> tuple[float, float] | None:
        """Return exif:GPSLatitude and exif:GPSLongitude, in degrees."""
        lat, lon = self.text("exif:GPSLatitude"), self.text("exif:GPSLongitude")
        if lat is None or lon is None:
            return None
        return validate.place(_coordinate(lat, "NS"), _coordinate(lon, "EW"))

    def altitude(self) -> float | None:
        """Return metres above sea level."""
        value = self.text("exif:GPSAltitude")
        if value is None:
            return None
        numerator, _, denominator = value.partition("/")
        try:
            metres = float(numerator) / float(denominator or 1)
        except (ValueError, ArithmeticError):
            raise Implausible(f"{validate.quote(value)} is not an altitude") from None
        return validate.height(metres, self.text("exif:GPSAltitudeRef"))

    def rating(self) -> int | None:
        return validate.stars(self.text("xmp:Rating"))

    def keywords(self) -> tuple[str, ...]:
        return self.properties.get("dc:subject", ())


def parse(packet: object) -> Xmp:
    """Return the properties of a packet, empty if there is no packet.

    Raises `Implausible` for a packet that is too long, is not XML, or contains a document type or entities.
    """
    if isinstance(packet, str):
        packet = packet.encode()
    if not isinstance(packet, bytes) or not packet.strip(b"\0 \t\r\n"):
        return Xmp()
    if len(packet) > LONGEST_PACKET:
        raise Implausible(f"{len(packet)} bytes, more than {LONGEST_PACKET}")
    if b"\0" not in packet[:4]:  # UTF-16 has null bytes
        packet = packet[max(packet.find(b"<"), 0) : packet.rfind(b">") + 1]
    try:
        root = fromstring(packet, forbid_dtd=True)
    except DefusedXmlException:
        raise Implausible("contains a document type or an entity") from None
    except (ParseError, ValueError, LookupError) as error:
        raise Implausible(f"is not XML ({error})") from None
    properties: dict[str, tuple[str, ...]] = {}
    for description in _descriptions(root):
        values = {name: [value] for name, value in description.attrib.items()}
        for name, texts in (*values.items(), *((str(child.tag), _values(child)) for child in description)):
            space, brace, local = name.partition("}")
            prefix = _PREFIXES.get(space + brace)
            if prefix and texts:
                properties.setdefault(f"{prefix}:{local}", tuple(texts))
    return Xmp(properties)


def _descriptions(root: Element) -> Iterable[Element]:
    """Yield the descriptions of each outermost RDF element. They are not nested, so each is visited once."""
    elements = [root]
    while elements:
        element = elements.pop()
        if element.tag == f"{_RDF}RDF":
            yield from element.findall(f"{_RDF}Description")
        else:
            elements += reversed(element)


def _values(element: Element) -> list[str]:
    """Return the text of a property, or of each of its items, the default translation first."""
    items = list(islice(element.iter(f"{_RDF}li"), validate.MOST_KEYWORDS + 1))
    items.sort(key=lambda item: item.get(_LANGUAGE) != "x-default")
    return [item.text for item in items or [element] if item.text]


def _coordinate(value: str, letters: str) -> float:
    match = _COORDINATE.fullmatch(value)
    if match and match[4].upper() in letters:
        degrees = validate.angle([float(part) for part in match.groups()[:3] if part])
        return -degrees if match[4].upper() == letters[1] else degrees
    if _SIGNED.fullmatch(value):
        return float(value)
    raise Implausible(f"{validate.quote(value)} is not a coordinate")
