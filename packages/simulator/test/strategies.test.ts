import { describe, expect, test } from 'vitest'
import { describeReport, simulateSeeds } from '../src/index.ts'
import { bestLeads } from '../src/oracles/best-leads.ts'
import { tell } from '../src/oracles/oracle.ts'
import type { ProcessLife } from '../src/process-life.ts'
import type { Run } from '../src/run.ts'
import { TermLife } from '../src/term-life.ts'
import { FencedLedger } from './ledger-controllers.ts'

const controllers = [(world: ConstructorParameters<typeof FencedLedger>[0]) => new FencedLedger(world)]

test.each(['OldestEmulationVersion', 'NewestVersion', 'disagreeing', 'newer-version', 'contradictory'] as const)(
  'replicas that choose by %s break no rule',
  async (strategy) => {
    for (const replicas of [2, 5]) {
      const { failures, terms } = await simulateSeeds({ controllers, strategy, replicas, seeds: 15 })
      expect(failures.map(describeReport)).toEqual([])
      expect(terms).toBeGreaterThan(20)
    }
  },
)

test.each(['OldestEmulationVersion', 'NewestVersion'] as const)(
  'a quiet fleet that chooses by %s changes its leader only for a better one',
  async (strategy) => {
    const { failures } = await simulateSeeds({ controllers, strategy, replicas: 6, faults: {}, seeds: 20 })
    expect(failures.map(describeReport)).toEqual([])
  },
)

describe('O11', () => {
  const LATE_MS = 600_000
  const processOf = (identity: string, grade: number, isAlive = true): ProcessLife => ({
    identity,
    grade,
    isAlive,
    isStopping: false,
    isEntitled: false,
    isExcused: false,
  })

  /** What O11 says where the worse of two replicas has led ever since both started, or since a better leader died. */
  const verdictOn = (leader: ProcessLife, death?: { readonly at: number; readonly hadLed: boolean }) => {
    const run = { now: 0, timing: { leaseDurationMs: 15_000 } }
    const messages: string[] = []
    const judge = bestLeads.judge(run as Run, (message) => messages.push(message))
    const dead = processOf('dead', 3, false)
    const leads = (process: ProcessLife) =>
      tell(judge, { kind: 'term-began', term: new TermLife(process, 'lease', 1n) })
    tell(judge, { kind: 'calm' })
    for (const process of [leader, dead, processOf('better', 2)]) tell(judge, { kind: 'process-started', process })
    leads(death?.hadLed === true ? dead : leader)
    run.now = death?.at ?? 0
    tell(judge, { kind: 'process-ended', process: dead })
    if (death?.hadLed === true) leads(leader)
    run.now = LATE_MS
    tell(judge, { kind: 'ended' })
    return messages
  }

  test('blames a worse leader that leads on', () => {
    expect(verdictOn(processOf('worse', 1))).toEqual(['term 1 of worse leads, although better is better'])
  })

  test('gives a leader time that was the first when the lease of a dead leader expired', () => {
    expect(verdictOn(processOf('worse', 1), { at: LATE_MS - 20_000, hadLed: true })).toEqual([])
    expect(verdictOn(processOf('worse', 1), { at: LATE_MS - 200_000, hadLed: true })).toHaveLength(1)
  })

  test('blames a worse leader although a replica that did not lead has just died', () => {
    expect(verdictOn(processOf('worse', 1), { at: LATE_MS - 20_000, hadLed: false })).toHaveLength(1)
  })

  test('does not take a process that was terminated during its drain for a leader', () => {
    expect(verdictOn(processOf('worse', 1, false))).toEqual([])
  })
})
