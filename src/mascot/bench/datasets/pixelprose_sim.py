"""A simulated PixelProse: 996 photographs with place, time and caption, made from a seed.

PixelProse itself cannot be shipped, and its links decay. This stand-in is **simulated**: no image, caption
or model behind it is real. Only the city table (`cities.csv`: coordinates and rough weights of web
photography, written from general knowledge) and the profile of hours describe the world.

How it is made. A photograph is a blend of topics (beach, market, fireworks ...), mostly of one or two. One
of them decides where and when it was taken: a topic may belong to a city and to an hour, and how much
differs from topic to topic. An image vector is a direction shared by all images, plus content (the topics'
blend and something of the image's own), plus a style that no caption mentions. A caption vector is the
content plus noise, whose size differs from caption to caption; some of the shared direction, which sets the
level of the scores; and a part that no image has. Content, style and noise have a falling spectrum.

The parameters were fitted to the published rows of the *base retriever* alone. docs/notes/simulation.md says what was
fitted and how close it comes; ``python -m benchmarks.simulation`` prints the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mascot.bench.datasets.dataset import Dataset, Floats, Ints, Split

# Share of photographs by local hour, 0 to 23, in arbitrary units: daylight, with a long evening.
_HOURS = np.array(
    [
        *(0.8, 0.5, 0.35, 0.3, 0.35, 0.7, 1.4, 2.3, 3.6, 5.4, 7.2, 8.2),
        *(8.1, 8.0, 8.4, 8.6, 8.6, 8.0, 6.6, 5.0, 3.6, 2.5, 1.6, 1.1),
    ]
)
_EARTH_KM = 6371.0
_DEGREE_KM = 111.2
_FIRST_DAY = np.datetime64("2006-01-01", "s")
_DAYS = 5844  # sixteen years


@dataclass(frozen=True, slots=True)
class PixelProseSim:
    """Parameters of the simulated PixelProse; the defaults are the fitted ones."""

    seed: int = 0  # the same seed gives the same dataset
    images: int = 996
    validation: int = 199  # images of the validation split; the rest is the test split
    dimension: int = 256  # of the vectors: two axes, then half content and half style
    topics: int = 60  # kinds of scenes
    topic_skew: float = 0.7  # exponent of their falling popularity
    blend: float = 1.0  # concentration of the Dirichlet weights of an image's topics; near 0 each image has one topic
    place_link: float = 0.77  # mean over topics of the share of images near the topic's home city
    place_km: float = 88.0  # how near
    hour_link: float = 0.88  # the same for the topic's hour
    hour_width: float = 0.97  # standard deviation in hours
    city_km: float = 10.0  # standard deviation of a photograph's distance from its city's centre, north and east
    spectrum: float = 0.414  # the k-th direction of content or style has the standard deviation k ** -spectrum
    own: float = 0.8  # size of the image's own content; that of the topics' blend is 1
    style: float = 2.3  # size of the image's style
    noise: float = 1.153  # median size of a caption's noise
    noise_spread: float = 0.24  # standard deviation of its logarithm
    shared: float = 0.712  # cosine between an image vector and the direction shared by all
    caption_level: float = 0.355  # cosine between a caption vector and the shared direction
    caption_signal: float = 0.72  # cosine between a caption vector and the content it tells

    def load(self) -> Dataset:
        """Make the dataset: image i's caption is query i, and image i its one positive.

        The columns are `lat`, `lon` (degrees), `taken` (local time, datetime64[s]), `city`, `country` (ISO 3166, two
        letters) and `topic`. In the splits `validation` and `test` a query finds the images of its own split.
        """
        # One stream for each part, so that a parameter of the captions leaves the places as they are.
        streams = [np.random.default_rng(child) for child in np.random.SeedSequence(self.seed).spawn(5)]
        for_topics, for_metadata, for_looks, for_captions, for_split = streams
        popularity = self.blend * _falling(self.topics, self.topic_skew)
        # The weights of the topics in each image, [M, T].
        blend = _shares(for_topics.gamma(np.broadcast_to(popularity, (self.images, self.topics))))
        vectors, captions = self._vectors(blend, for_looks, for_captions)
        order = for_split.permutation(self.images)
        validation, test = order[: self.validation], order[self.validation :]
        return Dataset(
            name="pixelprose_sim",
            columns=self._columns(blend, for_metadata),
            positives=[[row] for row in range(self.images)],
            splits={"validation": Split(validation, validation), "test": Split(test, test)},
            vectors=vectors,
            query_vectors=captions,
        )

    def _columns(self, blend: Floats, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        text = files("mascot.bench.datasets").joinpath("cities.csv").read_text(encoding="utf-8")
        # Columns city, country (ISO 3166, two letters), lat, lon, weight.
        cities: Any = np.genfromtxt(text.splitlines(), delimiter=",", names=True, dtype=None, encoding="utf-8")
        count = self.images
        topic = _draw(rng, blend)
        everywhere = _shares(cities["weight"])
        home = rng.choice(len(everywhere), self.topics, p=everywhere)
        nearby = _shares(cities["weight"] * np.exp(-_distances(cities, home) / self.place_km))
        # Beta(m, 1 - m) is U-shaped: most topics are nearly free of a place, or nearly bound to it.
        place_link = rng.beta(self.place_link, 1 - self.place_link, self.topics)[topic]
        hour_link = rng.beta(self.hour_link, 1 - self.hour_link, self.topics)[topic]
        at_home = rng.random(count) < place_link
        city = _draw(rng, np.where(at_home[:, None], nearby[topic], everywhere))
        lat = np.clip(cities["lat"][city] + self.city_km / _DEGREE_KM * rng.standard_normal(count), -90, 90)
        east = self.city_km * rng.standard_normal(count)
        lon = cities["lon"][city] + east / (_DEGREE_KM * np.cos(np.radians(lat)))

        bound = _hours(rng, self.topics)[topic] + self.hour_width * rng.standard_normal(count)
        hour = np.where(rng.random(count) < hour_link, bound, _hours(rng, count)) % 24
        day = np.floor(_DAYS * np.sqrt(rng.random(count)))  # more photographs every year
        seconds = day * 86400 + np.floor(hour * 3600)
        return {
            "lat": lat.round(5),
            "lon": ((lon + 180) % 360 - 180).round(5),
            "taken": _FIRST_DAY + seconds.astype("timedelta64[s]"),
            "city": cities["city"][city],
            "country": cities["country"][city],
            "topic": np.array([f"topic {number:02d}" for number in range(self.topics)])[topic],
        }

    def _vectors(
        self, blend: Floats, looks: np.random.Generator, captions: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return unit vectors [M, D] of images and captions; axis 0 is shared by images, axis 1 the captions' own."""
        half = (self.dimension - 2) // 2
        style_width = self.dimension - 2 - half

        def draw(rng: np.random.Generator, rows: int, width: int) -> Floats:
            return rng.standard_normal((rows, width)) * np.sqrt(_falling(width, 2 * self.spectrum))

        content = blend @ draw(looks, self.topics, half)
        # Independent topics shrink when they are averaged; this undoes it.
        content /= np.sqrt(np.square(blend).sum(axis=1, keepdims=True))
        content += self.own * draw(looks, self.images, half)
        style = self.style * draw(looks, self.images, style_width)
        noise = self.noise * np.exp(self.noise_spread * captions.standard_normal((self.images, 1)))
        described = content + noise * draw(captions, self.images, half)

        ones, zeros = np.ones((self.images, 1)), np.zeros((self.images, style_width))
        look = np.sqrt(1 - self.shared**2) * _unit(np.hstack([content, style]))
        image = np.hstack([self.shared * ones, 0 * ones, look])
        gap = np.sqrt(1 - self.caption_level**2 - self.caption_signal**2)
        caption = np.hstack([self.caption_level * ones, gap * ones, self.caption_signal * _unit(described), zeros])
        # float32 values: the last bits of exp and sqrt differ between machines, the content hash must not.
        return image.astype(np.float32).astype(np.float64), caption.astype(np.float32).astype(np.float64)


def _distances(cities: Any, homes: Ints) -> Floats:
    """Return great-circle kilometres from each home to every city, [H, C]."""
    lat, lon = np.radians(cities["lat"]), np.radians(cities["lon"])
    chord = np.sin((lat[homes, None] - lat) / 2) ** 2
    chord += np.cos(lat[homes, None]) * np.cos(lat) * np.sin((lon[homes, None] - lon) / 2) ** 2
    return 2 * _EARTH_KM * np.arcsin(np.sqrt(np.minimum(chord, 1)))


def _shares(weights: Floats) -> Floats:
    return weights / weights.sum(axis=-1, keepdims=True)


def _falling(count: int, exponent: float) -> Floats:
    """Return the shares of 1, 2 ** -exponent, 3 ** -exponent ..."""
    return _shares(np.power(np.arange(1.0, count + 1), -exponent))


def _draw(rng: np.random.Generator, chances: Floats) -> Ints:
    """Return a column of each row, drawn by the row's probabilities."""
    heights = chances.cumsum(axis=1)
    # Scaled by the last height, which rounding may leave a little short of 1.
    return (heights < rng.random((len(chances), 1)) * heights[:, -1:]).sum(axis=1)


def _hours(rng: np.random.Generator, count: int) -> Floats:
    return rng.choice(24, count, p=_shares(_HOURS)) + rng.random(count)


def _unit(rows: Floats) -> Floats:
    return rows / np.sqrt(np.square(rows).sum(axis=1, keepdims=True))
