import { OptionsError } from './options-error.ts'

/**
 * Checks that `options` is an object and has only keys of `known`.
 * @throws OptionsError that suggests the nearest known key, or the option that has the key.
 * @param nested the keys of nested options, by the name of the option
 */
export function assertKnownKeys(
  where: string,
  options: unknown,
  known: readonly string[],
  nested: Readonly<Record<string, readonly string[]>> = {},
): asserts options is object {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw OptionsError.expected(`${where.endsWith('()`') ? `the options of ${where}` : where} to be an object`, options)
  }
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    throw new OptionsError(`Unknown option \`${key}\` in ${where}${hintFor(key, known, nested)}`)
  }
}

function hintFor(key: string, known: readonly string[], nested: Readonly<Record<string, readonly string[]>>): string {
  const [nearest] = rankedNames(key, known)
  const [inner] = Object.entries(nested)
    .flatMap(([option, names]) => rankedNames(key, names).map((ranked) => ({ option, ...ranked })))
    .sort((a, b) => a.edits - b.edits)
  // A key with more edits than half of its length is hardly a typo of the name.
  if (inner !== undefined && inner.edits < (nearest?.edits ?? Infinity) && inner.edits <= key.length / 2)
    return `: it belongs in \`${inner.option}\`, as \`${inner.option}.${inner.candidate}\``
  return nearest === undefined ? '' : `; did you mean \`${nearest.candidate}\`?`
}

/** The candidate that is fewest edits away from `name`. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  return rankedNames(name, candidates)[0]?.candidate
}

/** The candidates, the nearest first. */
function rankedNames(
  name: string,
  candidates: readonly string[],
): readonly { readonly candidate: string; readonly edits: number }[] {
  return candidates
    .map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
    .sort((a, b) => a.edits - b.edits)
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
