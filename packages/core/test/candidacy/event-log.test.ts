import { expect, test } from 'vitest'
import { EventLog } from '../../src/candidacy/event-log.ts'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import type { Logger } from '../../src/ports/logger.ts'

type Body = CandidacyEvent extends infer E ? (E extends unknown ? Omit<E, 'lease'> : never) : never

const ERROR = new Error('403 leases is forbidden')

/** One event of every kind within a term, and the line that is written for it. */
const LINES: Readonly<Record<CandidacyEvent['kind'], readonly [Body, string]>> = {
  state: [{ kind: 'state', from: { kind: 'acquiring' }, to: { kind: 'leading', epoch: 7n } }, 'debug: now leading'],
  'leader-observed': [{ kind: 'leader-observed', identity: 'other' }, 'info: other leads'],
  'term-began': [{ kind: 'term-began', epoch: 7n, handoverMs: 3 }, 'info: term began'],
  'term-ending': [{ kind: 'term-ending', epoch: 7n, reason: 'superseded' }, 'info: term ends: superseded'],
  'term-over': [
    {
      kind: 'term-over',
      epoch: 7n,
      reason: 'shutdown',
      outcome: 'transferred',
      successor: 'other',
      drain: 'clean',
      durationMs: 9,
      drainMs: 1,
      errors: [],
    },
    'info: term over: transferred to other, after shutdown',
  ],
  renewed: [{ kind: 'renewed', elapsedMs: 2, remainingMs: 14_000 }, 'debug: renewed'],
  'request-failed': [{ kind: 'request-failed', purpose: 'renew', error: ERROR }, 'warn: 403 leases is forbidden'],
  'controller-failed': [
    { kind: 'controller-failed', controller: 'janitor', error: ERROR, restartInMs: 200 },
    'error: controller janitor failed, restarting in 200 ms: 403 leases is forbidden',
  ],
  'warm-up': [
    { kind: 'warm-up', controller: 'janitor', outcome: 'failed', error: ERROR },
    'warn: warm-up of janitor failed: 403 leases is forbidden',
  ],
  wedged: [
    {
      kind: 'wedged',
      epoch: 7n,
      tasks: [{ name: 'sweep', controller: 'janitor', ageMs: 5, spawnedAt: 'a.ts:1:1', waitsOn: undefined }],
    },
    'error: drain did not end in time, still running: janitor/sweep (5 ms, started at a.ts:1:1)',
  ],
}

test.each(Object.entries(LINES))('the line for %s names lease, epoch and event', (kind, [body, line]) => {
  const [entry, ...others] = write({ lease: 'ops', ...body }, 7n)
  expect(others).toEqual([])
  expect(entry?.line).toBe(line)
  expect(entry?.fields).toMatchObject({ lease: 'ops', epoch: 7n, event: kind })
})

test('a line outside of a term has no epoch', () => {
  const [entry] = write({ lease: 'ops', kind: 'leader-observed', identity: '' }, undefined)
  expect(entry).toEqual({
    line: 'info: nobody leads',
    fields: { lease: 'ops', event: 'leader-observed', leader: '' },
  })
})

test('an outage takes one line at its start, one a minute, and one at its end', async () => {
  const { entries, log, clock } = open()
  for (let at = 0; at < 150_000; at += 500) {
    log.write({ lease: 'ops', kind: 'request-failed', purpose: 'renew', error: ERROR }, 7n)
    await clock.advance(500)
  }
  log.requestSucceeded('ops')
  log.requestSucceeded('ops')
  expect(entries.map(({ line }) => line).filter((line) => !line.startsWith('debug'))).toEqual([
    'warn: 403 leases is forbidden',
    'warn: 403 leases is forbidden (121 failed requests in 60.0 s)',
    'warn: 403 leases is forbidden (241 failed requests in 120.0 s)',
    'info: lease requests succeed again, after 300 failures in 150.0 s',
  ])
})

test('a single failed request is not followed by a line about its end', () => {
  const { entries, log } = open()
  log.write({ lease: 'ops', kind: 'request-failed', purpose: 'acquire', error: ERROR }, undefined)
  log.requestSucceeded('ops')
  expect(entries).toHaveLength(1)
})

test('a term that ended with failures names the first of them', () => {
  const errors = ['a', 'b', 'c', 'd'].map((text) => new Error(text))
  const [body] = LINES['term-over']
  const [entry] = write({ lease: 'ops', ...body, errors } as CandidacyEvent, 7n)
  expect(entry?.line).toBe('warn: term over: transferred to other, after shutdown, with 4 failures: a; b; c; …')
})

interface Entry {
  readonly line: string
  readonly fields: Readonly<Record<string, unknown>>
}

function write(event: CandidacyEvent, epoch: bigint | undefined): readonly Entry[] {
  const { entries, log } = open()
  log.write(event, epoch)
  return entries
}

function open() {
  const entries: Entry[] = []
  const at = (level: string) => (fields: Readonly<Record<string, unknown>>, message: string) =>
    entries.push({ line: `${level}: ${message}`, fields })
  const logger: Logger = {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: () => logger,
  }
  const clock = new VirtualClock()
  return { entries, clock, log: new EventLog({ logger, clock }) }
}
