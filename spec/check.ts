import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { writeFigures } from '../bench/figures.ts'
import { partOf } from '../bench/part-of.ts'
import { configOf, LONG_MODELS, type Model, MODELS, WRONG_MODELS, type WrongModel } from './models.ts'
import { locateTlc, runTlc, type TlcResult } from './tlc.ts'

/*
 * Checks the models of the protocol. The protocol must keep every invariant. Every wrong variant must violate the invariant that it
 * names. Prints the states, the depth and the time of each model. `--part 2/3` checks every third model and variant, from the second on.
 */
const { values } = parseArgs({
  options: {
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    part: { type: 'string', default: '1/1' },
    trace: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
})

const jar = await locateTlc()
const cores = availableParallelism()
const started = performance.now()
const { only } = values
const isWanted = ({ name }: Model) => only === undefined || name.includes(only)
const isInPart = partOf('--part', values.part)
let failures = 0

console.log(`${'model'.padEnd(44)}${'states'.padStart(10)}${'depth'.padStart(7)}${'s'.padStart(7)}`)
const sound: TlcResult[] = []
for (const model of (values.long ? LONG_MODELS : MODELS).filter(isWanted).filter(isInPart))
  sound.push(await checkSound(model))
const wanted = WRONG_MODELS.filter((model) => isWanted({ ...model, name: labelOf(model) })).filter(isInPart)
const broken = await inParallel(wanted, cores, checkWrong)

const figures = {
  'spec.models': sound.length,
  'spec.states': sound.reduce((sum, { states }) => sum + states, 0),
  'spec.depth': Math.max(0, ...sound.map(({ depth }) => depth)),
  'spec.violations': sound.filter(({ violated }) => violated !== undefined).length,
  'spec.variants': broken.length,
  'spec.variants_violating': broken.filter(({ isCaught }) => isCaught).length,
  'spec.seconds': (performance.now() - started) / 1000,
}
console.log(
  `${figures['spec.states']} states in ${sound.length} models, ${figures['spec.violations']} violations; ` +
    `${figures['spec.variants_violating']} of ${broken.length} wrong variants give a counterexample; ` +
    `${figures['spec.seconds'].toFixed(0)} s`,
)
await writeFigures(values.json, figures)
if (failures > 0 || sound.length + broken.length === 0) process.exitCode = 1

async function checkSound(model: Model): Promise<TlcResult> {
  const result = await run(model, cores)
  report(model.name, result, result.violated === undefined ? '' : `VIOLATES ${result.violated}`)
  if (result.violated !== undefined) fail(result)
  return result
}

async function checkWrong(model: WrongModel): Promise<{ readonly isCaught: boolean }> {
  const result = await run(model, 1)
  const isCaught = result.violated === model.violates
  const verdict = isCaught ? `violates ${model.violates} after ${result.trace.length} steps` : 'GIVES NO COUNTEREXAMPLE'
  report(labelOf(model), result, verdict)
  if (!isCaught) fail(result)
  else if (values.trace) console.log(`    ${result.trace.join(' → ')}`)
  return { isCaught }
}

function labelOf({ name }: WrongModel): string {
  return `wrong: ${name}`
}

async function run(model: Model, workers: number): Promise<TlcResult> {
  const memoryMb = values.long ? 6000 : 1500
  return await runTlc(jar, { module: model.module ?? 'Tenure', config: configOf(model), workers, memoryMb })
}

function report(name: string, { states, depth, seconds }: TlcResult, verdict: string): void {
  const numbers = `${String(states).padStart(10)}${String(depth).padStart(7)}${seconds.toFixed(1).padStart(7)}`
  console.log(`${name.padEnd(44)}${numbers}  ${verdict}`.trimEnd())
}

function fail({ trace }: TlcResult): void {
  failures += 1
  if (trace.length > 0) console.log(`    ${trace.join(' → ')}`)
}

async function inParallel<T, R>(inputs: readonly T[], limit: number, work: (input: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  const queue = inputs.values()
  const worker = async () => {
    for (const input of queue) results.push(await work(input))
  }
  await Promise.all(Array.from({ length: limit }, worker))
  return results
}
