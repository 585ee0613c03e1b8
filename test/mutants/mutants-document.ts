import type { Mutant } from './mutants.ts'

/** The result of a mutant. */
export interface Verdict {
  readonly mutant: Mutant
  /** The test that failed, if any. */
  readonly killedBy: string | undefined
  readonly cpuSeconds: number
}

/** The page with the table of all mutants. */
export function documentOf(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ mutant, killedBy, cpuSeconds }) =>
    row([
      mutant.id,
      mutant.defect,
      mutant.seenIn ?? '',
      killedBy === undefined ? 'nothing' : `\`${mutant.checks.join('`, `')}\`: ${killedBy}`,
      cpuSeconds.toFixed(1),
    ]),
  )
  return [
    '# Mutants',
    '',
    'A mutant is a defect that a script plants in the sources. A test must find each of them. A mutant that is seen in another project',
    'reproduces a defect of that project. The times are seconds of CPU time, including the start of the test runner.',
    '',
    '```sh',
    'npm run mutants                # all mutants',
    'npm run mutants -- --only B2   # one mutant',
    'npm run mutants -- --write     # all mutants; writes this page',
    '```',
    '',
    row(['id', 'defect', 'seen in', 'killed by', 's']),
    row(['---', '---', '---', '---', '---']),
    ...rows,
    '',
  ].join('\n')
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
}
