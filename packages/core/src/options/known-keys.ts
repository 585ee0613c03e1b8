import { OptionsError } from './options-error.ts'

/** Throws an {@link OptionsError} that names the nearest known key when `options` holds a key that is not in `known`. */
export function assertKnownKeys(where: string, options: object, known: readonly string[]): void {
  for (const key of Object.keys(options)) {
    if (known.includes(key)) continue
    const nearest = nearestName(key, known)
    throw new OptionsError(
      `Unknown option \`${key}\` in ${where}` + (nearest === undefined ? '' : `; did you mean \`${nearest}\`?`),
    )
  }
}

/** The candidate that is fewest edits away from `name`. */
export function nearestName(name: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates.map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
  return ranked.sort((a, b) => a.edits - b.edits)[0]?.candidate
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
