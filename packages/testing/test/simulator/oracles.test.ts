import { afterEach, describe, expect, test } from 'vitest'
import { describeReport, type OracleId, simulateSeeds } from '../../src/simulator/index.ts'
import { ORACLES } from '../../src/simulator/oracles/index.ts'
import { FencedLedger } from './ledger-controllers.ts'
import { PLANTED_DEFECTS } from './planted-defects.ts'

const undos: (() => void)[] = []
afterEach(() => {
  for (const undo of undos.splice(0).toReversed()) undo()
})

test('every oracle has a planted defect', () => {
  expect(ORACLES.map(({ id }) => id).toSorted()).toEqual(Object.keys(PLANTED_DEFECTS).toSorted())
})

describe.each(Object.entries(PLANTED_DEFECTS))('Oracle %s', (id, { what, options, plant }) => {
  test(`finds ${what} within 10 000 seeds, and says it with a trace`, async () => {
    if (plant !== undefined) undos.push(plant())
    const { failures } = await simulateSeeds({ seeds: 10_000, ...options, oracles: [id as OracleId] })
    expect(failures.map(({ violations }) => new Set(violations.map(({ oracle }) => oracle)))).toEqual([new Set([id])])
    for (const failure of failures) {
      expect(describeReport(failure)).toMatch(
        /^seed s\d+-\d+, trace [0-9a-f]{16}\n(?:O\d is broken at .*\n {2}The rule: .*\n)+What happened before:\n/,
      )
      expect(failure.trace.at(-1)?.text).toContain('VIOLATED')
    }
  })
})

test('a sound controller breaks no rule', async () => {
  const { failures, terms } = await simulateSeeds({ seeds: 20, controllers: [(world) => new FencedLedger(world)] })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(30)
})
