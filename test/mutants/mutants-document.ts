import { format, resolveConfig } from 'prettier'
import { MEANS, type Means } from './means/means.ts'
import { UNTRACEABLE } from './means/untraceable.ts'
import type { Mutant } from './mutants.ts'
import type { TrackRecord, Trial, TrialsOfMutant } from './track-record.ts'

/** The text of `docs/mutants.md`, formatted. */
export async function documentOf(mutants: readonly Mutant[], record: TrackRecord): Promise<string> {
  const rows = mutants.map((mutant) => {
    const trials = record.of(mutant.id)
    return row([mutant.id, mutant.defect, mutant.seenIn ?? '', ...foundBy(trials), commitsOf(trials)])
  })
  const text = [
    '# Mutants',
    '',
    'A mutant is a defect that a script plants in the sources, one at a time. This page is the track record: what finds each of them, and on',
    'which commit of the sources that was last seen. A mutant that is seen in another project reproduces a defect of that project. A unit test',
    'must find each mutant. Run all means before a release: the command fails if one no longer finds what it found before.',
    '',
    '```sh',
    'npm run mutants                            # all mutants, by unit tests',
    'npm run mutants -- --track                 # all mutants, by all means; takes hours',
    'npm run mutants -- --only B2 --means traces # one mutant, by one of the means',
    'npm run mutants -- --track --write         # the same; writes this page after each mutant, and --resume continues',
    '```',
    '',
    row(['means', 'how it finds a mutant']),
    row(['---', '---']),
    ...MEANS.map((means) => row([means, HOW[means]])),
    '',
    row(['id', 'defect', 'seen in', 'found by', 'not found by', 'commit']),
    row(['---', '---', '---', '---', '---', '---']),
    ...rows,
    '',
    '## Mutants of the elector that no trace shows',
    '',
    'A trace holds what an elector saw, sent and did. It shows a step that the specification does not allow, and nothing else.',
    '',
    row(['mutants', 'why']),
    row(['---', '---']),
    ...UNTRACEABLE.map(({ ids, reason }) => row([ids.join(', '), reason])),
    '',
  ].join('\n')
  return format(text, { ...(await resolveConfig(import.meta.filename)), parser: 'markdown' })
}

const HOW: Readonly<Record<Means, string>> = {
  types: 'The compiler refuses the file, or a file that imports it.',
  unit: 'A unit test fails.',
  spec: 'The model with the same rule broken gives a counterexample.',
  edges: 'A real elector differs from the model, or does not take one of its steps.',
  explorer: 'The exhaustive search of the machine finds a history that breaks a rule.',
  simulator: 'A simulated fleet of whole replicas breaks an oracle.',
  traces: '`tenure check-trace` finds a broken rule in the trace of a simulated fleet, and sees nothing else.',
  processes:
    'Replicas run as processes on a real API server, and faults strike their leaders. `tenure check-trace` finds a broken rule in their traces, or a fleet has no leader for a minute.',
}

function foundBy(trials: TrialsOfMutant): readonly [found: string, not: string] {
  const tried = MEANS.flatMap((means) => (trials[means] === undefined ? [] : [[means, trials[means]] as const]))
  const found = tried.filter(([, { by }]) => by !== null).map(([means, { by }]) => `${means}: ${by}`)
  const not = tried.filter(([, { by }]) => by === null).map(([means]) => means)
  return [found.length === 0 ? 'nothing' : found.join('; '), not.join(', ')]
}

/** The commit of the trials that found the mutant; each one, if there are several. */
function commitsOf(trials: TrialsOfMutant): string {
  const found = Object.values(trials).filter((trial): trial is Trial => trial.by !== null)
  return [...new Set(found.map(({ commit }) => commit))].join(', ')
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`
}
