"""The 95 items of the audit, each with the checks and the tests that decide it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.audit import measures, numbers, selections, small_run

Check = Callable[[], str]


@dataclass(frozen=True)
class Item:
    """What the paper or its released code says.

    A check computes in this run: it returns its evidence or raises `Mismatch`. Tests are ids of pytest. `gap` says what
    is missing however the checks end.
    """

    section: str
    text: str
    checks: tuple[Check, ...] = ()
    tests: tuple[str, ...] = ()
    gap: str = ""


def _tests(file: str, *names: str) -> tuple[str, ...]:
    return tuple(f"tests/{file}.py::{name}" for name in names)


def _recipe(name: str) -> tuple[str, ...]:
    test = "test_a_recipe_accounts_for_every_item_and_a_killed_run_goes_on_to_the_same_result"
    return _tests("bench/test_prepare_recipes", f"{test}[{name}]")


_READER = _tests("bench/test_prepare_readers", "test_the_study_reads_times_and_angles_in_its_own_way")
_PICTURES = _tests("bench/test_prepare_core", "test_pictures_become_upright_jpegs_that_are_small_enough")
_SAMPLED = _tests("bench/test_prepare_core", "test_validation_and_test_captions_are_sampled_by_a_seeded_permutation")
_GENOME = _tests("bench/test_prepare_recipes", "test_published_visual_genome_reads_clocks_and_saves_pictures_again")
_INCIDENTS = _tests(
    "bench/test_prepare_recipes",
    "test_published_incidents_keep_repeated_addresses_and_the_noise_counts_failed_downloads",
)
_SPLIT_OF_FILE = _tests(
    "bench/test_prepare_recipes", "test_a_list_of_pictures_pins_the_test_split_and_names_the_missing",
    "test_visual_genome_is_pinned_by_numbers",
)  # fmt: skip
_VECTORS = _tests("bench/test_encode", "test_vectors_are_the_models_own")
_FOLDER_ROWS = _tests("bench/test_folder", "test_published_settings_and_rows_are_those_of_the_dataset")
_MAP = _tests("bench/test_folder", "test_incidents_are_measured_by_map")
_BINS, _LOOP = (selections.memberships,), (selections.coverage_selections,)
_DPPS, _DIVERSITY = (selections.dpp_selections,), (measures.diversity,)

_DEFINITIONS = [
    Item("definitions", "Task: choose K of N candidates, N = 200, K = 20", (small_run.protocol,)),
    Item("definitions", "Temporal bins: 24 hours, cyclic distance", _BINS),
    Item("definitions", "Geographic bins: g x g grid with both ends, Euclidean degrees, no wrap", _BINS),
    Item("definitions", "Gaussian membership, sigma in degrees and hours", _BINS),
    Item("definitions", "Memberships below 1% are 0", _BINS),
    Item("definitions", "Planar approximation: shares north of 60 degrees and at the antimeridian", (measures.places,)),
    Item("definitions", "Normalised relevance, epsilon 1e-8", _LOOP),
    Item("definitions", "Importance of a bin by the query, Omega", _LOOP),
    Item("definitions", "Objective f(S) with d = +1 and -1", (*_LOOP, selections.guarantees)),
    Item("definitions", "Algorithm 1: greedy, ties to the lowest position", _LOOP),
    Item("definitions", "Spread is monotone submodular with 1 - 1/e; focus is a heuristic", (selections.guarantees,)),
    Item("definitions", "First step: the coverage gain is not 0", (measures.first_gain, small_run.first_results)),
    Item("definitions", "Composite space: bins side by side, 400 + 24 = 424", _BINS),
    Item("definitions", "A direction for each attribute; equal directions are the single one", _LOOP),
    Item("definitions", "Coverage saturates and its penalty is bounded", (selections.guarantees,)),
    Item("definitions", "MS-DPP: M = expm(sum of signed, weighted logm S)", _DPPS),
    Item("definitions", "Tangent normalisation (+TN)", _DPPS),
    Item("definitions", "+TN+TVMS", _DPPS),
    Item("definitions", "Greedy MAP, exact and as released (divides by d^2)", _DPPS),
    Item("definitions", "Pruning with stale upper bounds changes no selection; O(K N U)", _LOOP),
    Item("definitions", "The vectorised search equals the sequential one", _LOOP),
]
_BASELINES = [
    Item("baselines", "BLIP-2 base: the order of the scores", (selections.relevance_selections,)),
    Item("baselines", "k-DPP, with the lost first result on focus", _DPPS),
    Item("baselines", "Clustering", (), _tests("bench/test_baselines", "test_clustering_is_the_definition")),
    Item("baselines", "MMR, whose sign vanishes", (selections.relevance_selections,)),
    Item("baselines", "Prob-Coverage", _LOOP),
    Item("baselines", "w/o Normalization", _LOOP),
    Item("baselines", "Uniform Binning", _LOOP),
]
_DATASETS = [
    Item("datasets", "PixelProse: GPS of whole numbers alone", (), _READER + _recipe("pixelprose")),
    Item("datasets", "PixelProse: zero rule, year 2024, newlines deleted", (), _READER + _recipe("pixelprose")),
    Item("datasets", "PixelProse: times and angles as the study reads them", (), _READER),
    Item("datasets", "PixelProse: 1,799 is counted before rows out of range are dropped", (), _recipe("pixelprose")),
    Item("datasets", "PixelProse: duplicates by uid and name, or by address", (), _recipe("pixelprose")),
    Item("datasets", "PixelProse: upright, longest side 1,024, JPEG at quality 75", (), _PICTURES),
    Item("datasets", "PixelProse: up to 1,000 test captions, all 797", (), _SAMPLED),
    Item("datasets", "PixelProse: 50 validation captions by a seeded permutation", (numbers.split,), _SAMPLED),
    Item("datasets", "Visual Genome: tables, ranges of 64 KiB", (), _recipe("visual-genome")),
    Item("datasets", "Visual Genome: time by HH:MM alone", (), _GENOME),
    Item("datasets", "Visual Genome: 15 queries with a positive in each split, name or names", (), _GENOME),
    Item("datasets", "Visual Genome: pictures reduced and saved again", (), _GENOME + _PICTURES),
    Item("datasets", "Incidents1M: filter of the annotations, form and e-mail", (), _recipe("incidents1m")),
    Item("datasets", "Incidents1M: places of hosts, order of the services", (),
         _tests("bench/test_prepare_readers", "test_services_are_asked_in_the_order_of_their_names")),
    Item("datasets", "Incidents1M: noise by earlier located images, not capped", (),
         _INCIDENTS + _tests("bench/test_prepare_readers",
                             "test_published_noise_grows_with_the_earlier_images_and_is_not_capped")),
    Item("datasets", "Incidents1M: queries, prefix place:, 2 positives in each split", (), _recipe("incidents1m")),
    Item("datasets", "Incidents1M: 32 pixels, repeated addresses kept, not turned", (), _INCIDENTS),
    Item("datasets", "SkyScript: shuffled by Random(42), the first 20,000", (),
         _tests("bench/test_prepare_recipes", "test_published_rows_are_shuffled_and_cut_before_captions_are_unique")),
    Item("datasets", "SkyScript: captions unique after the download", (),
         _tests("bench/test_prepare_recipes", "test_a_caption_whose_first_picture_fails_has_the_next")),
    Item("datasets", "SkyScript: box or bbox, 32 pixels, remote archives", (),
         _recipe("skyscript") + _tests("bench/test_prepare_readers", "test_the_middle_of_a_box")),
    Item("datasets", "Split: a fifth for validation, torch.randperm with seed 42", (numbers.split,)),
    Item("datasets", "Sizes of the splits", (numbers.sizes_table,)),
    Item("datasets", "The same images as published", (), _SPLIT_OF_FILE,
         "needs the authors' result files, which list the test pictures; --images FILE pins the split to them"),
]  # fmt: skip
_ENCODER = [
    Item("encoder", "BLIP-2 itm-vit-g-coco: the largest product over the tokens", (),
         _VECTORS + _tests("bench/test_encode", "test_a_local_copy_of_the_published_checkpoint_is_compared")),
    Item("encoder", "Texts of each split in batches of 100, padded, not masked", (),
         _tests("bench/test_encode", "test_published_texts_are_padded_by_the_hundred_and_not_masked")),
    Item("encoder", "Appearance vector: mean over the tokens, unit length", _DIVERSITY, _VECTORS),
    Item("encoder", "CLIP ViT-L/14", (), _VECTORS),
]  # fmt: skip
_METRICS = [
    Item("metrics", "R@k: any positive", (measures.retrieval,)),
    Item("metrics", "MAP over the positives found", (measures.retrieval,)),
    Item("metrics", "Vendi score: q = 0.1, ridge 1e-5, kernel 1 / (1 + d)", _DIVERSITY),
    Item("metrics", "(V - 1) / (K - 1)", _DIVERSITY),
    Item("metrics", "DM of two channels, harmonic mean over queries, 1 - V on focus", _DIVERSITY),
    Item("metrics", "Overall: HM with R@10, MAP on Incidents1M", (*_DIVERSITY, measures.retrieval), _MAP),
    Item("metrics", "PRS", (measures.control,)),
    Item("metrics", "Features of the hour: 1439 published, 1440 correct", (*_DIVERSITY, *_DPPS),
         _tests("bench/test_claims", "test_methods_that_compare_features_take_the_hour_as_published")),
    Item("metrics", "Agreement of the first result", (measures.control, small_run.first_results)),
    Item("metrics", "Displacement by primary bin", (measures.control, small_run.displacement)),
    Item("metrics", "Fixed-recall front", (measures.control,)),
]  # fmt: skip
_PROTOCOL = [
    Item("protocol", "Search on validation, K = 10, best HM, the first of equals", (measures.search,)),
    Item("protocol", "Grids of PixelProse", (numbers.pixelprose_grids,)),
    Item("protocol", "Wider grids of the other datasets", (numbers.wide_grids,)),
    Item("protocol", "30 printed operating points", (numbers.operating_points,)),
    Item("protocol", "Operating points of the DPPs", (small_run.inferred_points,)),
]


def _main(item: str, way: str, direction: str) -> Item:
    return Item("tables", item, (partial(numbers.pixelprose_table, way), partial(small_run.main_table, direction)))


def _sweep(item: str, study: str, name: str, label: str) -> Item:
    checks = (partial(numbers.sweep_table, name, label), partial(small_run.sweep_table, study, name))
    return Item("tables", f"Sensitivity: {item}", checks)


def _other(item: str, name: str, label: str, tests: tuple[str, ...] = ()) -> Item:
    return Item("tables", item, (partial(numbers.other_table, name, label),), _FOLDER_ROWS + tests)


_TABLES = [
    _main("Decrease", "decrease", "focus"),
    _main("Increase", "increase", "spread"),
    _other("Visual Genome", "visual_genome", "vg_hour_results"),
    _other("Incidents1M", "incidents1m", "i1m_geo_results", _MAP),
    _other("SkyScript", "skyscript", "skyscript_geo_results"),
    Item("tables", "PRS, the DPPs at fixed betas", (numbers.prs_table, small_run.prs_table)),
    Item("tables", "Hyper-parameters", (numbers.operating_points, small_run.parameters_table)),
    _sweep("lambda", "strength", "lambda", "sensitivity_theta"),
    _sweep("sigma geo", "sigma_geo", "sigma_geo", "sensitivity_sigma_geo"),
    _sweep("sigma time", "sigma_time", "sigma_time", "sensitivity_sigma_time"),
    _sweep("grid", "grid", "grid", "sensitivity_grid_size"),
    Item("tables", "Fixed recall, settings of the study", (numbers.fixed_recall_table, small_run.fixed_recall_table)),
    Item("tables", "Mixed directions", (numbers.mixed_table, small_run.mixed_table)),
    Item("tables", "Appearance", (numbers.appearance_table, small_run.appearance_table)),
    Item("tables", "Ten clusters: 50 captions, ten restarts", (small_run.clusters_table,),
         _tests("bench/test_released_studies", "test_published_clusters_are_the_tightest_of_ten_runs")),
    Item("tables", "Runtime", (numbers.runtime_table, small_run.runtime_table)),
]  # fmt: skip
_FIGURES = [
    Item("figures", "Recall@K, six panels", (small_run.figure_files,), _tests("bench/test_figures", "test_panels")),
    Item("figures", "Recall@K of Visual Genome and Incidents1M", (),
         _tests("bench/test_figures", "test_recall_is_drawn_at_every_k_where_the_records_have_ranks",
                "test_datasets_have_a_folder_each_and_judged_data_a_figure")),
    Item("figures", "One query: first results, heat map, clock", (small_run.figure_files,),
         _tests("bench/test_figures", "test_one_query_has_a_list_a_map_and_a_clock_for_each_way")),
]  # fmt: skip
_CLAIMS = [
    Item("claims", "MS-DPP collapses on composite focus (0.493 against 0.941)", (measures.collapse,)),
    Item("claims", "Uniform Binning has the higher HM on the three focus tasks", (measures.uniform_binning,)),
    Item("claims", "Abrupt collapse one step past the point", (measures.one_step,)),
    Item("claims", "Generality: any attribute with bins", (),
         _tests("bench/test_own_data", "test_several_positives_are_measured_by_rank_and_precision")
         + _tests("bench/test_arrays", "test_files_round_trip")),
    Item("claims", "Commands reproduce every table and figure", (small_run.protocol, small_run.figure_files),
         _tests("bench/test_encode", "test_three_commands_make_the_tables")),
]  # fmt: skip
ITEMS = (
    *_DEFINITIONS, *_BASELINES, *_DATASETS, *_ENCODER, *_METRICS, *_PROTOCOL, *_TABLES, *_FIGURES, *_CLAIMS,
)  # fmt: skip
