import { writeFile } from 'node:fs/promises'

/** The named results of a bench, for programs. */
export type Figures = Readonly<Record<string, number>>

/** The percentile `p`, from 0 to 1, of the sorted samples. */
export function percentile(samples: readonly number[], p: number): number {
  const sorted = samples.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? Number.NaN
}

/** One line of a table: n, p50, p90, p99, max. */
export function summary(name: string, samples: readonly number[]): string {
  const cells = [0.5, 0.9, 0.99, 1].map((p) => percentile(samples, p).toFixed(2).padStart(9))
  return `${name.padEnd(36)}${String(samples.length).padStart(6)}${cells.join('')}`
}

/** The head of a table of {@link summary} lines. */
export const SUMMARY_HEAD: string =
  'ms'.padEnd(36) + 'n'.padStart(6) + ['p50', 'p90', 'p99', 'max'].map((name) => name.padStart(9)).join('')

/** Writes the figures to the file of `--json`, if given. */
export async function writeFigures(file: string | undefined, figures: Figures): Promise<void> {
  if (file === undefined) return
  const rounded = Object.entries(figures).map(([id, value]) => [id, Math.round(value * 1000) / 1000])
  await writeFile(file, `${JSON.stringify({ figures: Object.fromEntries(rounded) }, null, 2)}\n`)
}
