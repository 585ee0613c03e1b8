import { globSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { matchesGlob } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { wholeNumber } from '../../bench/whole-number.ts'
import { seededRandom } from '../differential/seeded-random.ts'
import { findEquivalent, staleEntries } from './equivalent.ts'
import { Judge } from './judge.ts'
import { describeMutant, type Mutant } from './mutant.ts'
import { mostSurvivors } from './most-survivors.ts'
import { mutantsOf } from './mutants-of.ts'
import { RelatedTests } from './related-tests.ts'
import { sampleOf } from './sample.ts'
import { TestProcess } from './test-process.ts'
import { TypeCheck } from './type-check.ts'
import { UnchangedFiles } from './unchanged-files.ts'
import { VerdictCache } from './verdict-cache.ts'

/*
 * Changes the sources in every way that Stryker knows, one place at a time, and asks whether the types or the unit tests notice. Changes no
 * file: compiler and tests get the changed text instead. Exits with 1 if too many mutants survive, or an entry of `equivalent.ts` matches
 * nothing. `--sample N` judges some of them, drawn with `--seed`; `--files GLOB` restricts the sources; `--cache FOLDER` keeps the
 * verdicts, so that a run can be continued. Ends when somebody changes a source or a test meanwhile.
 */
const { values } = parseArgs({
  options: {
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
    files: { type: 'string' },
    json: { type: 'string' },
    cache: { type: 'string' },
  },
})
const sample = values.sample === undefined ? undefined : wholeNumber('--sample', values.sample, 1)
const seed = wholeNumber('--seed', values.seed, 0)

const SOURCES = 'packages/{core,kubernetes,ops,tenure}/src/**/*.ts'

/** The least share of the mutants that change anything that must be noticed. */
const LEAST_SCORE = 0.95

const root = fileURLToPath(new URL('../../', import.meta.url))
// What was started ends with this program.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

using types = new TypeCheck(root)
const judge = new Judge(root, {
  types,
  related: new RelatedTests(root),
  cache: new VerdictCache(values.cache),
  files: new UnchangedFiles(root, '{packages/*/{src,test},docs}/**/*.{ts,md,json}'),
})

const sources = globSync(SOURCES, { cwd: root }).sort()
const wanted = sources.filter((file) => values.files === undefined || matchesGlob(file, values.files))
if (wanted.length === 0) throw new Error(`Expected \`--files\` to match a file of ${SOURCES}, got \`${values.files}\``)
const stale = staleEntries((file) => judge.sourceOf(file))
for (const { file, line, before, after } of stale)
  console.error(`No mutant matches this entry of equivalent.ts: ${file} "${line}" ${before} → ${after}`)

const all = wanted.flatMap((file) => mutantsOf(file, judge.sourceOf(file)))
const mutants = sampleOf(all, sample, seededRandom(seed))
const isEquivalent = (mutant: Mutant): boolean => findEquivalent(mutant, judge.sourceOf(mutant.file)) !== undefined
const live = mutants.filter((mutant) => !isEquivalent(mutant))
console.log(
  `${mutants.length} of ${all.length} mutants, ${mutants.length - live.length} of them known to change nothing`,
)

let killed = 0
const untyped = live.filter((mutant) => !isKilled(mutant, 'types', judge.typeErrorOf(mutant)))
await judge.measure([...new Set(untyped.map(({ file }) => file))])
const waiting = [...untyped]
const survivors: Mutant[] = []
// One more than there are cores: tests that a mutant lets hang only wait.
await Promise.all(Array.from({ length: availableParallelism() + 1 }, () => runTestsOfWaiting()))

const score = live.length === 0 ? 1 : killed / live.length
console.log(`\n${survivors.length} survivors`)
for (const survivor of survivors) console.log(describeMutant(survivor))
console.log(`\n${killed} of ${live.length} killed, a score of ${(100 * score).toFixed(1)} %`)
await writeFigures(values.json, { mutants: mutants.length, killed, equivalent: mutants.length - live.length, score })
const limit =
  sample === undefined ? Math.floor((1 - LEAST_SCORE) * live.length) : mostSurvivors(live.length, LEAST_SCORE)
if (survivors.length > limit)
  console.error(`Expected at most ${limit} survivors, as for a score of ${100 * LEAST_SCORE} % of all mutants`)
if (survivors.length > limit || stale.length > 0) process.exitCode = 1

async function runTestsOfWaiting(): Promise<void> {
  using runner = new TestProcess(root)
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    if (!isKilled(mutant, 'test', await judge.failureOf(mutant, runner))) {
      survivors.push(mutant)
      console.log(`SURVIVES        ${describeMutant(mutant)}`)
    }
  }
}

function isKilled(mutant: Mutant, by: 'types' | 'test', reason: string | undefined): boolean {
  if (reason === undefined) return false
  killed += 1
  console.log(`killed by ${by.padEnd(6)}${describeMutant(mutant)}: ${reason}`)
  return true
}
