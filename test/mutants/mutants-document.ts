import type { Mutant } from './mutants.ts'

/** What became of a mutant. */
export interface Verdict {
  readonly mutant: Mutant
  /** The test that failed; undefined where none did. */
  readonly killedBy: string | undefined
  readonly cpuSeconds: number
}

/** The table of all mutants, for people. */
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
    'Each defect was put into the sources and found by a test. Those with a place are defects that others have had; the rest is made up.',
    'Seconds are of CPU, with the start of the test runner.',
    '',
    '```sh',
    'npm run mutants                # all of them',
    'npm run mutants -- --only B2   # one',
    'npm run mutants -- --write     # all of them; writes this page',
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
