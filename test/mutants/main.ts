import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { partOf } from '../../bench/part-of.ts'
import { applyMutant } from './apply-mutant.ts'
import { findMutant, MUTANTS } from './find-mutant.ts'
import { assertSound } from './means/assert-sound.ts'
import { canShow, isOfElector, MEANS, type Means } from './means/means.ts'
import { MeansRunner, type Trials } from './means/run-means.ts'
import { isUntraceable } from './means/untraceable.ts'
import { documentOf } from './mutants-document.ts'
import type { Mutant } from './mutants.ts'
import { commitOfSources, TrackRecord } from './track-record.ts'

/*
 * Plants one defect after the other in the sources as they are loaded, and runs the unit tests that must find it. `--track` looks for it by
 * all means, and `--means types,traces` by some. Exits with 1 if a mutant survives the unit tests, exceeds the time limit, no longer matches
 * the sources, or is not found by means that found it before; and if traces show fewer mutants of the elector than they should.
 *
 * `--write` enters the results in the track record and the page of the documents, mutant by mutant. `--resume` leaves out what the record has
 * for the present commit of the sources. `--part 2/3` plants every third defect, from the second on.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    part: { type: 'string', default: '1/1' },
    track: { type: 'boolean', default: false },
    means: { type: 'string', default: 'unit' },
    write: { type: 'boolean', default: false },
    resume: { type: 'boolean', default: false },
  },
})

/** The limit for finding a mutant by unit tests, in seconds of CPU time. */
const LONGEST_SECONDS = 60

const duplicate = MUTANTS.find(({ id }, index) => MUTANTS.findIndex((other) => other.id === id) !== index)
if (duplicate !== undefined)
  throw new Error(`Expected every mutant to have an id of its own, got \`${duplicate.id}\` twice`)

const root = new URL('../../', import.meta.url)
const means = values.track ? MEANS : values.means.split(',').map(meansOf)
const record = new TrackRecord()
// Needed only with the record: the sources may lie in no repository, or in one without commits.
const commit = values.write || values.resume ? commitOfSources() : ''
const named = values.only === undefined ? MUTANTS : values.only.split(',').map((id) => findMutant(id) ?? fail(id))
const wanted = named.filter(partOf('--part', values.part))
const mutants = values.resume ? wanted.filter((mutant) => !isTried(mutant)) : wanted
for (const mutant of mutants) applyMutant(mutant, await readFile(new URL(mutant.file, root), 'utf8'))
await assertSound(means, mutants)

await using runner = new MeansRunner(means)
const waiting = [...mutants]
const results = new Map<Mutant, Trials>()
const wrong: string[] = []
/** Mutants are tried side by side, and the page is written after each of them. */
let written = Promise.resolve()
await Promise.all(Array.from({ length: availableParallelism() }, () => takeMutants()))

const all = [...results.values()]
const survivors = all.filter(({ found }) => 'unit' in found && found.unit === undefined).length
const slowest = Math.max(0, ...all.map(({ cpuSeconds }) => cpuSeconds))
for (const line of wrong) console.error(line)
console.log(`\n${all.length} mutants, ${survivors} survivors, the slowest took ${slowest.toFixed(1)} s of CPU`)
const counts = means.map((one) => [`found_by_${one}`, all.filter(({ found }) => found[one] !== undefined).length])
for (const [name, count] of counts) console.log(`${name} ${count}`)
await writeFigures(values.json, {
  mutants: all.length,
  survivors,
  slowest_s: slowest,
  wrong: wrong.length,
  ...(Object.fromEntries(counts) as Record<string, number>),
})
if (survivors + wrong.length > 0 || slowest > LONGEST_SECONDS || all.length < mutants.length) process.exitCode = 1

async function takeMutants(): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const { file, id } = mutant
    const code = applyMutant(mutant, await readFile(new URL(file, root), 'utf8'))
    const trials = await runner.run(mutant, { file, code })
    results.set(mutant, trials)
    report(mutant, trials)
    if (values.write) await enter(id, trials)
  }
}

function report({ id, file, defect }: Mutant, { found, cpuSeconds }: Trials): void {
  const by = means.flatMap((one) => (found[one] === undefined ? [] : [`${one}: ${found[one]}`]))
  console.log(`${id.padEnd(4)} ${cpuSeconds.toFixed(1).padStart(5)} s  ${defect}: ${by.join('; ') || 'NOT FOUND'}`)
  for (const one of record.lostBy(id, found)) wrong.push(`${id} was found by ${one} before, and now it is not`)
  if (!('traces' in found) || !isOfElector(file)) return
  const isShown = found.traces !== undefined
  if (isShown && isUntraceable(id)) wrong.push(`${id} is listed as a mutant that no trace shows, but one does`)
  if (!isShown && !isUntraceable(id))
    wrong.push(`${id} is shown by no trace: list it in untraceable.ts with the reason`)
}

async function enter(id: string, { found }: Trials): Promise<void> {
  record.enter(id, found, commit)
  record.save(MUTANTS.map((mutant) => mutant.id))
  written = written.then(writePage)
  await written
}

async function writePage(): Promise<void> {
  await writeFile(fileURLToPath(new URL('docs/mutants.md', root)), await documentOf(MUTANTS, record))
}

function isTried(mutant: Mutant): boolean {
  return means.every((one) => !canShow(one, mutant) || record.of(mutant.id)[one]?.commit === commit)
}

function meansOf(name: string): Means {
  const one = MEANS.find((known) => known === name)
  if (one !== undefined) return one
  throw new Error(`Expected \`--means\` to name some of ${MEANS.join(', ')}, got \`${name}\` (${typeof name})`)
}

function fail(id: string): never {
  throw new Error(`There is no mutant ${id}`)
}
