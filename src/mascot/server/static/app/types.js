// Types of the page's data, for editors and `tsc --checkJs`. The server defines the requests and answers in `schemas.py`.

/**
 * A photograph, as `Photo.to_dict()` writes it.
 * @typedef {object} Photo
 * @property {number} id
 * @property {string} path relative to the folder of the library
 * @property {string} folder
 * @property {string | null} title
 * @property {string | null} caption
 * @property {string[]} keywords
 * @property {string | null} taken the local time, `2019-07-14T18:05:00`
 * @property {number | null} lat
 * @property {number | null} lon
 * @property {number | null} altitude metres
 * @property {string | null} city
 * @property {string | null} country a code such as PT
 * @property {string | null} season
 * @property {string | null} part_of_day
 * @property {string | null} moment
 * @property {string | null} camera
 * @property {string | null} lens
 * @property {number | null} rating 0 to 5
 * @property {number} width pixels
 * @property {number} height pixels
 * @property {number} size bytes
 * @property {string[]} problems
 */

/**
 * A wish, in the JSON grammar of the server. The first field names the attribute and says which kind of wish it is.
 * @typedef {object} Wish
 * @property {string} [spread] mix up this attribute
 * @property {string} [focus] keep this attribute together, or near a value
 * @property {string | string[]} [limit] at most `n` results per value of this attribute, or combination of these
 * @property {string | string[]} [at_least] at least so many results of values of this attribute
 * @property {string | string[]} [share] target shares of the values of this attribute
 * @property {string} [near] the value of a focus, as people write it
 * @property {number} [within] the distance at which closeness is one half
 * @property {number} [weight] 0.1 to 1 for a dial (default: 1)
 * @property {number | Record<string, number>} [n] for each value, or for one
 * @property {number} [others] for each value that `n` does not name
 * @property {number} [window] the limit holds in every so many results
 * @property {number} [first] the limit holds among so many first results
 * @property {boolean} [fill] complete the list where the limit leaves fewer than k results
 * @property {Record<string, number>} [counts] the smallest count of each value
 * @property {Record<string, number>} [shares] 0 to 1 for each value
 * @property {string} [bound] `at least`, `at most` or `exactly` these shares
 */

/**
 * The body of `POST /api/search`. Missing fields have the server's defaults.
 * @typedef {object} SearchRequest
 * @property {string} [sentence] what was typed; parts of it become filters and wishes
 * @property {string} [text] words that are searched for as they are
 * @property {number} [like] the id of a photograph
 * @property {string} [since] the first day, `2019-07-31`
 * @property {string} [until] the last day
 * @property {string} [country]
 * @property {string} [city]
 * @property {string} [camera]
 * @property {number} [rating] the minimum
 * @property {string} [folder] a part of the folder's name
 * @property {number[]} [box] south, west, north and east in degrees
 * @property {Wish[]} [wishes]
 * @property {boolean} [best] whether quality and stars count as relevance
 * @property {number} [k] the number of results
 * @property {number[]} [pin] ids that are always in the result
 * @property {number[]} [reject] ids that never are
 * @property {number} [strength]
 * @property {number} [keep]
 * @property {number} [protect]
 * @property {string} [order]
 */

/**
 * One result.
 * @typedef {object} Result
 * @property {Photo} photo
 * @property {number} rank from 1
 * @property {number} was its rank by relevance alone
 * @property {number} score
 * @property {number} relevance 0 to 1
 * @property {Record<string, number>} gains
 * @property {string} because why it is in the result, as a sentence
 * @property {number[]} similar ids of the photographs that it stands for
 * @property {boolean} pinned
 * @property {boolean | null} [good] whether it is a good match; null without words
 */

/**
 * The value that a focus is near: the text of the request, and what it means.
 * @typedef {object} Target
 * @property {string} name
 * @property {string} near
 * @property {number | null} [lat]
 * @property {number | null} [lon]
 * @property {number | null} [hour] 0 to 24
 * @property {string | null} [date]
 * @property {string | null} [nearest] how far the nearest result is, if that is worth saying
 */

/**
 * What was understood of a part of the sentence.
 * @typedef {object} Chip
 * @property {string} kind
 * @property {string} words the part of the sentence
 * @property {number} start its first code point
 * @property {number} end
 * @property {string} label
 * @property {Record<string, any>} fields what it means, as fields of a search request
 * @property {boolean} filled whether it filters or limits; otherwise it prefers
 */

/**
 * The sentence in the search box, as the server understood it.
 * @typedef {object} Understood
 * @property {string} sentence
 * @property {string | null} text the words that are searched for
 * @property {Chip[]} chips
 * @property {{words: string, reason: string}[]} ignored
 * @property {{chip: number, label: string, count: number}[]} drop without results: how many there are without a chip
 */

/**
 * The answer to a search.
 * @typedef {object} SearchAnswer
 * @property {Result[]} results
 * @property {Photo[]} plain the results by relevance alone
 * @property {{id: number, because: string}[]} left_out
 * @property {Target[]} targets
 * @property {Understood | null} [understood] null without a sentence
 * @property {number | null} [good_matches] how many candidates are good matches; null without words
 * @property {number} candidates
 * @property {number | null} newest_of without words: how many photographs the candidates are the newest of
 * @property {number} kept share of the best possible relevance, 0 to 1
 * @property {SearchRequest} request the request with strength, protect and order as used
 */

/**
 * A trip or a year.
 * @typedef {object} Period
 * @property {string} name
 * @property {string | null} place null for a year
 * @property {string} since
 * @property {string} until
 * @property {number} photos
 * @property {number} cover the id of the photograph that represents it
 * @property {SearchRequest} request the search for its photographs
 * @property {SearchRequest | null} best the search for its best; null if it has few
 */

/**
 * The part of the state that the address holds. Filters are text; an empty text is no filter.
 * @typedef {object} AddressState
 * @property {string} text
 * @property {number | null} like
 * @property {string} since
 * @property {string} until
 * @property {string} country
 * @property {string} city
 * @property {string} camera
 * @property {string} rating
 * @property {string} folder
 * @property {string} box
 * @property {Wish[]} wishes
 * @property {boolean} best whether the best photographs are selected
 * @property {number} k
 * @property {number[]} pin the photographs on the tray
 * @property {number[]} reject
 * @property {number | null} complete how many photographs to add to those on the tray; null: the tray is not searched with
 * @property {number | null} strength
 * @property {number | null} keep
 * @property {number | null} protect
 * @property {string | null} order
 * @property {boolean} compare
 * @property {boolean} large whether the map is large
 * @property {number | null} photo the photograph that is open
 */

/**
 * The part of the state that the address does not hold.
 * @typedef {object} SessionState
 * @property {any} library the answer of `/api/library`, once it is loaded
 * @property {Period[]} periods the trips and years of the library
 * @property {SearchAnswer | null} answer the answer that is shown
 * @property {SearchRequest | null} answered the request of that answer
 * @property {SearchRequest | null} requested the latest request; null if it failed
 * @property {"loading" | "asking" | "shown" | "failed" | "empty"} status
 * @property {{text: string, canRetry: boolean} | null} error
 * @property {boolean} isSlow whether a request takes long
 * @property {string} message the outcome of the last action
 * @property {{id: number, isPicked: boolean} | null} rejected the photograph of the last rejection, which can be undone
 * @property {number | null} lastPick where a range of picks starts
 * @property {number[] | null} neighbours the photographs that Previous and Next go through; null: those of the list
 * @property {Picks | null} viewerPicks picks made in the large view: Back closes the view and keeps them
 * @property {boolean} trayOpen
 * @property {boolean} panelOpen whether the steering panel is open on a phone
 * @property {string} card the card that the panel shows
 */

/** @typedef {AddressState & SessionState} State */
/** @typedef {{pin: number[], reject: number[], complete: number | null}} Picks */

export {};
