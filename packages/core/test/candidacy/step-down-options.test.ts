import { describe, expect, test } from 'vitest'
import { resolveStepDown } from '../../src/candidacy/step-down.ts'
import { JITTER_FACTOR } from '../../src/jitter.ts'
import type { StepDownOptions } from '../../src/term/term.ts'
import { ME, PureElector } from '../election/pure-elector.ts'

const { config } = new PureElector()
const pollMs = JITTER_FACTOR * config.timing.retryPeriodMs
const resolve = (options: StepDownOptions = {}) => resolveStepDown(options, config)

describe('The options of a step-down', () => {
  test('have defaults: no successor, and time for two polls', () => {
    expect(resolve()).toEqual({ reason: 'step-down', cooldownMs: 2 * pollMs, answerTimeoutMs: pollMs })
  })

  test('may name a successor, which makes it a transfer', () => {
    expect(resolve({ to: 'other', cooldownMs: 0, answerTimeoutMs: 0 })).toEqual({
      reason: 'transferred',
      to: 'other',
      cooldownMs: 0,
      answerTimeoutMs: 0,
    })
  })

  test.each<[object, string]>([
    [{ to: '' }, 'Expected `to` to be the identity of another replica, got `` (string)'],
    [{ to: 7 }, 'Expected `to` to be the identity of another replica, got `7` (number)'],
    [{ to: ME }, `Expected \`to\` to be the identity of another replica, got \`${ME}\` (string)`],
    [{ cooldownMs: -1 }, 'Expected `cooldownMs` to be a number of milliseconds of at least 0, got `-1` (number)'],
    [
      { answerTimeoutMs: -1 },
      'Expected `answerTimeoutMs` to be a number of milliseconds of at least 0, got `-1` (number)',
    ],
    [{ cooldown: 1 }, 'Unknown option `cooldown` in `stepDown()`; did you mean `cooldownMs`?'],
  ])('%o are refused', (options, message) => {
    expect(() => resolve(options)).toThrow(message)
  })
})
