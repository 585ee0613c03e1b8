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

/** The fields of these lines besides the lease, the epoch and the event. */
const FIELDS: Readonly<Record<string, object>> = {
  state: { from: 'acquiring', to: 'leading' },
  'leader-observed': { leader: 'other' },
  'term-began': { handoverMs: 3 },
  'term-ending': { reason: 'superseded' },
  'term-over': {
    reason: 'shutdown',
    outcome: 'transferred',
    successor: 'other',
    drain: 'clean',
    durationMs: 9,
    drainMs: 1,
  },
  renewed: { elapsedMs: 2 },
  'request-failed': { purpose: 'renew', err: ERROR, failures: 1 },
  'controller-failed': { controller: 'janitor', restartInMs: 200, err: ERROR },
  'warm-up': { controller: 'janitor', outcome: 'failed', err: ERROR },
  wedged: { tasks: [{ name: 'sweep', controller: 'janitor', ageMs: 5, spawnedAt: 'a.ts:1:1', waitsOn: undefined }] },
}

test.each(Object.entries(LINES))(
  'the line for %s has the lease, the epoch, the event and its details',
  (kind, [body, line]) => {
    const [entry, ...others] = write({ lease: 'ops', ...body }, 7n)
    expect(others).toEqual([])
    expect(entry?.line).toBe(line)
    expect(entry?.fields).toEqual({ lease: 'ops', epoch: 7n, event: kind, ...FIELDS[kind] })
  },
)

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

test('a term that ended with failures has all of them in its line, and of up to three every text', () => {
  const errors = ['a', 'b', 'c'].map((text) => new Error(text))
  const [body] = LINES['term-over']
  const [entry] = write(
    { lease: 'ops', ...body, successor: undefined, outcome: 'released', errors } as CandidacyEvent,
    7n,
  )
  expect(entry?.line).toBe('warn: term over: released, after shutdown, with 3 failures: a; b; c')
  expect(entry?.fields).toMatchObject({
    event: 'term-over',
    err: { name: 'AggregateError', message: '3 failures while the term ended', errors },
  })
})

test('a controller that is given up says so, with the remedy', () => {
  const error = new Error('A metric with the name runs_total has already been registered.')
  const [entry] = write(
    { lease: 'ops', kind: 'controller-failed', controller: 'janitor', error, restartInMs: undefined },
    7n,
  )
  expect(entry?.line).toBe(
    'error: controller janitor failed, giving up: A metric with the name runs_total has already been registered. ' +
      'Define it with `registers: [metrics(term)]`: such a metric ends with its run',
  )
})

test.each(['ready', 'cancelled'] as const)('a warm-up that is %s is no warning', (outcome) => {
  const entries = write({ lease: 'ops', kind: 'warm-up', controller: 'janitor', outcome, error: undefined }, undefined)
  expect(entries).toEqual([
    {
      line: `info: warm-up of janitor: ${outcome}`,
      fields: { lease: 'ops', event: 'warm-up', controller: 'janitor', outcome },
    },
  ])
})

test('an outage that ends says how long it lasted', async () => {
  const { entries, log, clock } = open()
  for (let request = 0; request < 2; request++) {
    log.write({ lease: 'ops', kind: 'request-failed', purpose: 'renew', error: ERROR }, undefined)
    await clock.advance(750)
  }
  log.requestSucceeded('ops')
  expect(entries.slice(1)).toEqual([
    {
      line: 'debug: 403 leases is forbidden',
      fields: { lease: 'ops', event: 'request-failed', purpose: 'renew', err: ERROR },
    },
    {
      line: 'info: lease requests succeed again, after 2 failures in 1.5 s',
      fields: { lease: 'ops', event: 'requests-succeed', failures: 2, lastedMs: 1500 },
    },
  ])
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
