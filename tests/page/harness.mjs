// `node:test` and `node:assert` for a browser, as far as the tests use them. The results are in `window.results`.

const tests = [];
export default (name, run) => tests.push({ name, run });

function equal(value, expected) {
  if (!Object.is(value, expected)) throw new Error(`${JSON.stringify(value)} is not ${JSON.stringify(expected)}`);
}

const sorted = (value) => JSON.stringify(value, (_, part) => (
  part && typeof part === "object" && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort()) : part));

export const assert = {
  equal,
  deepEqual: (value, expected) => equal(sorted(value), sorted(expected)),
  ok: (value) => equal(Boolean(value), true),
};

export async function runTests() {
  const failures = [];
  for (const { name, run } of tests) {
    try {
      await run();
    } catch (error) {
      failures.push(`${name}: ${error.message}`);
    }
  }
  return { count: tests.length, failures };
}
