import { parseArgs } from 'node:util'
import fc from 'fast-check'
import { writeFigures } from '../bench/figures.ts'
import { wholeNumber } from '../bench/whole-number.ts'
import {
  isAccepted,
  retryNearBorder,
  runSchedule,
  timingNearBorder,
} from '../packages/core/test/election/timing-schedules.ts'
import { overlapAfterCutOffMs, survivesOneLostRenewal } from '../packages/core/test/election/witness.ts'

/*
 * Accepted timing options near the border of what is accepted: no random schedule may have two terms at once. Refused ones: each
 * must have the schedule that it is refused for.
 */
const { values } = parseArgs({
  options: {
    schedules: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
})
const schedules = wholeNumber('--schedules', values.schedules, 1)
const seed = wholeNumber('--seed', values.seed, 1)
const started = performance.now()

const near = sample(timingNearBorder(fc.constantFrom(0, 1, 3, 20, 100, 500)), schedules).filter(isAccepted)
let terms = 0
for (const [index, timing] of near.entries()) terms += runSchedule(timing, seed * schedules + index)

const refused = Math.max(1000, Math.floor(schedules / 10))
const short = sample(timingNearBorder(fc.constantFrom(-1, -2, -10, -50)), refused)
const overlapping = short.filter((timing) => !isAccepted(timing) && overlapAfterCutOffMs(timing) > 0).length
const hasty = sample(retryNearBorder(fc.constantFrom(0, -1, -10, -50)), refused)
const losing = hasty.filter((timing) => !isAccepted(timing) && !survivesOneLostRenewal(timing)).length

const seconds = (performance.now() - started) / 1000
console.log(`${near.length} random schedules of accepted options, ${terms} terms, no overlap`)
console.log(`${overlapping} of ${refused} options without time for the grace have two terms at once`)
console.log(`${losing} of ${refused} options without time for a second renewal lose a term with one renewal`)
console.log(`${seconds.toFixed(1)} s`)
await writeFigures(values.json, {
  'timing.schedules': near.length,
  'timing.terms': terms,
  'timing.overlaps': 0,
  'timing.refused': 2 * refused,
  'timing.witnesses': overlapping + losing,
  'timing.seconds': seconds,
})
if (overlapping + losing < 2 * refused || terms < near.length || near.length < schedules * 0.9) process.exitCode = 1

function sample<T>(arbitrary: fc.Arbitrary<T>, numRuns: number): readonly T[] {
  return fc.sample(arbitrary, { seed, numRuns })
}
