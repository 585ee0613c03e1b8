import { readFile, writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { writeFigures } from '../../bench/figures.ts'
import { applyMutant } from './apply-mutant.ts'
import { findMutant, MUTANTS } from './find-mutant.ts'
import { documentOf, type Verdict } from './mutants-document.ts'
import { type Mutant } from './mutants.ts'
import { runTests } from './run-mutant.ts'

/*
 * Plants one defect after the other in the sources as they are loaded, and runs the tests that must find it. Exits with 1 if a mutant
 * survives, exceeds the time limit, or no longer matches the sources.
 */
const { values } = parseArgs({
  options: {
    json: { type: 'string' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})

/** The limit for finding a mutant, in seconds of CPU time. */
const LONGEST_SECONDS = 60

const duplicate = MUTANTS.find(({ id }, index) => MUTANTS.findIndex((other) => other.id === id) !== index)
if (duplicate !== undefined)
  throw new Error(`Expected every mutant to have an id of its own, got \`${duplicate.id}\` twice`)

const root = new URL('../../', import.meta.url)
const mutants = values.only === undefined ? MUTANTS : values.only.split(',').map((id) => findMutant(id) ?? fail(id))
for (const mutant of mutants) applyMutant(mutant, await readFile(new URL(mutant.file, root), 'utf8'))

const checks = [...new Set(mutants.flatMap((mutant) => mutant.checks))]
const sound = await runTests(undefined, checks)
if (sound.failed.length > 0 || sound.broken.length > 0 || sound.passed === 0) {
  throw new Error(`Expected the tests to pass without a mutant: ${[...sound.failed, ...sound.broken].join('; ')}`)
}

const waiting = [...mutants]
const verdicts = new Map<Mutant, Verdict>()
await Promise.all(Array.from({ length: availableParallelism() }, () => takeMutants()))

const all = mutants.flatMap((mutant) => verdicts.get(mutant) ?? [])
const survivors = all.filter(({ killedBy }) => killedBy === undefined)
const slowest = Math.max(...all.map(({ cpuSeconds }) => cpuSeconds))
console.log(`\n${all.length} mutants, ${survivors.length} survivors, the slowest took ${slowest.toFixed(1)} s of CPU`)
await writeFigures(values.json, { mutants: all.length, survivors: survivors.length, slowest_s: slowest })
if (values.write) await writeFile(fileURLToPath(new URL('docs/mutants.md', root)), documentOf(all))
if (survivors.length > 0 || slowest > LONGEST_SECONDS || all.length < mutants.length) process.exitCode = 1

async function takeMutants(): Promise<void> {
  for (let mutant = waiting.shift(); mutant !== undefined; mutant = waiting.shift()) {
    const { file } = mutant
    const code = applyMutant(mutant, await readFile(new URL(file, root), 'utf8'))
    const { failed, broken, cpuSeconds } = await runTests({ file, code }, mutant.checks)
    if (broken.length > 0) throw new Error(`Mutant ${mutant.id} cannot be run: ${broken.join('; ')}`)
    const [killedBy] = failed
    verdicts.set(mutant, { mutant, killedBy, cpuSeconds })
    const outcome = killedBy === undefined ? 'SURVIVES' : `killed by "${killedBy}"`
    console.log(`${mutant.id.padEnd(4)} ${cpuSeconds.toFixed(1).padStart(5)} s  ${mutant.defect}: ${outcome}`)
  }
}

function fail(id: string): never {
  throw new Error(`There is no mutant ${id}`)
}
