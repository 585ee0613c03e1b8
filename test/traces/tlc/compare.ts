import { locateTlc } from '../../../spec/tlc.ts'
import { mulberry32 } from '../../../packages/core/test/election/fleet.ts'
import { checkLines } from '../check-lines.ts'
import type { Lines } from '../corruption.ts'
import { CORRUPTIONS } from '../corruptions.ts'
import { MALFORMATIONS } from '../malformations.ts'
import { judgeTraces, mostOpenWrites, type TlcVerdict } from './judge.ts'
import { modelStepsOf, type ModelTrace } from './model-steps.ts'

/** A trace in memory. */
interface Named {
  readonly name: string
  readonly lines: readonly string[]
}

/** A trace for both judges. */
interface Case {
  readonly name: string
  readonly trace: ModelTrace
  /** The rules that `tenure check-trace` finds broken. */
  readonly rules: readonly string[]
}

/** What two judges say of the same traces. */
interface Comparison {
  readonly traces: number
  readonly agreed: number
  /** One line for each trace on which they differ. */
  readonly differences: readonly string[]
}

/** Corruptions that the model cannot see, and why. They are not judged by it. */
export const UNSEEN: Readonly<Record<string, string>> = {
  'line-dropped': 'the model does not number steps, and most lines change nothing in it',
  'time-back': 'the clock goes back by less than a tick counts, and the model takes the clocks as they are',
  'time-slowed': 'the model takes the clocks as they are, and has no clock of the machine',
  'missing-meanwhile': 'the model does not take in that the lease is missing',
  'least-epoch-changed': 'the model has no least epoch',
  'step-down-ignored': 'in the model, an elector competes by its write alone',
  'machine-time-back': 'the model has no clock of the machine',
  'acquires-without-a-write': 'in the model, an elector competes by its write alone',
  'release-keeps-duration': 'a release of the model has no duration',
  'release-keeps-acquire-time': 'a release of the model has no acquire time',
  'announcement-with-epoch': 'the model has no least epoch',
  'wedged-while-leading': 'the model does not take in that work is wedged',
  'stopped-while-leading': 'the model does not take in that the process has stopped',
  ...Object.fromEntries(MALFORMATIONS.map(({ id }) => [id, 'the model knows steps, not lines'])),
}

/** How many traces one run of the model checker judges. */
const TOGETHER = 60

/** Has the model checker and the checker of `tenure check-trace` judge these traces, and as many corrupted ones. All the traces must be sound. */
export async function compareWithTlc(sound: readonly Named[]): Promise<Comparison> {
  const jar = await locateTlc()
  // A run has as many slots as its trace with the most, and more slots take longer.
  const cases = [...sound.map(soundCase), ...corruptedCases(sound)].toSorted(
    (a, b) => mostOpenWrites(a.trace) - mostOpenWrites(b.trace),
  )
  const differences: string[] = []
  for (let from = 0; from < cases.length; from += TOGETHER) {
    const some = cases.slice(from, from + TOGETHER)
    const verdicts = await judgeTraces(
      jar,
      some.map(({ trace }) => trace),
    )
    differences.push(...some.flatMap((one, index) => differenceIn(one, verdicts[index])))
  }
  return { traces: cases.length, agreed: cases.length - differences.length, differences }
}

function soundCase({ name, lines }: Named): Case {
  return caseOf(
    name,
    lines.map((line) => JSON.parse(line) as Lines[number]),
  )
}

function caseOf(name: string, lines: Lines): Case {
  const texts = lines.map((line) => JSON.stringify(line))
  const rules = checkLines(name, texts).findings.map(({ rule }) => rule)
  return { name, trace: modelStepsOf(lines), rules: [...new Set(rules)] }
}

/** As many corrupted traces, of every kind that the model can see in turn. */
function corruptedCases(sound: readonly Named[]): readonly Case[] {
  const kinds = CORRUPTIONS.filter(({ id }) => !Object.hasOwn(UNSEEN, id))
  const cases: Case[] = []
  for (let seed = 0; cases.length < sound.length && seed < 100 * sound.length; seed += 1) {
    const kind = kinds[seed % kinds.length]
    const trace = sound[(seed + Math.floor(seed / kinds.length)) % sound.length]
    if (kind === undefined || trace === undefined) break
    const lines = trace.lines.map((line) => JSON.parse(line) as Lines[number])
    if (kind.apply(lines, mulberry32(seed))) cases.push(caseOf(`${trace.name}, seed ${seed}: ${kind.id}`, lines))
  }
  return cases
}

/** In words, if the judges differ. */
function differenceIn({ name, trace, rules }: Case, verdict: TlcVerdict | undefined): readonly string[] {
  if (verdict === undefined || (verdict.broken === undefined) === (rules.length === 0)) return []
  const step = JSON.stringify(trace.steps[verdict.step - 1])
  const model = verdict.broken === undefined ? 'accepts it' : `finds ${verdict.broken} at ${step}`
  const checker = rules.length === 0 ? 'accepts it' : `finds ${rules.join(', ')}`
  return [`${name}: the model ${model}; tenure check-trace ${checker}`]
}
