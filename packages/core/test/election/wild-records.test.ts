import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import {
  readAnswer,
  readOffer,
  readProcessRef,
  readTransferNonce,
  withOffer,
} from '../../src/election/rules/transfer-notes.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { watchedHolder } from '../../src/election/phases/following.ts'
import { lease, ME, PureElector } from './pure-elector.ts'

/** How many records are put to electors; `npm run fuzz:records` puts 100 000. */
const RECORDS = Number(process.env['TENURE_FUZZ_RECORDS'] ?? 5000)
const RECORDS_PER_RUN = 10
const TERM = '2026-01-01T11:00:00.000000Z'

const time = fc.oneof(
  fc.constantFrom(TERM, undefined, '', 'never', '2026-01-01T11:00:00Z', '2026-01-01T11:00:00.123456789Z', '9999-12-31'),
  fc.string(),
)
const number = fc.oneof(
  fc.constantFrom(undefined, 0, 1, 5, 15, -1, 2 ** 31, Number.MAX_SAFE_INTEGER, Number.NaN, Infinity),
  fc.integer(),
)
const holder = fc.oneof(fc.constantFrom(ME, 'other', '', 'x'.repeat(10_000)), fc.string())
const note = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record(
      {
        holder,
        of: time,
        to: holder,
        identity: fc.oneof(holder, fc.integer()),
        nonce: fc.string(),
        process: fc.string(),
      },
      { requiredKeys: [] },
    )
    .map((value) => JSON.stringify(value)),
  fc
    .record({ identity: holder, nonce: fc.string(), to: fc.constantFrom(ME, undefined), process: fc.string() })
    .map((value) => JSON.stringify({ holder: 'other', of: TERM, ...value })),
  fc
    .record({ nonce: fc.oneof(fc.string(), fc.constant('1-')) })
    .map(({ nonce }) => JSON.stringify({ holder: ME, of: TERM, nonce })),
)
const annotations = fc.dictionary(
  fc.constantFrom(
    'tenure.dev/transfer-offer',
    'tenure.dev/transfer-answer',
    'tenure.dev/transfer',
    'tenure.dev/holder-process',
    'tenure.dev/standby',
    'tenure.dev/unheard-of',
  ),
  note,
)
const record: fc.Arbitrary<LeaseRecord> = fc.record({
  holderIdentity: holder,
  leaseDurationSeconds: number,
  acquireTime: time,
  renewTime: time,
  leaseTransitions: number,
  annotations,
})

/** An elector in each state that takes records in, with the request that it is in waiting. */
const ELECTORS: Readonly<Record<string, () => PureElector>> = {
  follower: () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    return elector
  },
  candidate: () => {
    const elector = new PureElector()
    const { record: held } = lease({ version: 1n })
    elector.follow({ kind: 'present', version: 1n, deleting: false, record: withOffer(held, { to: ME }) })
    elector.acknowledge(2n)
    return elector
  },
  acquirer: () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    return elector
  },
  leader: () => new PureElector().lead(),
  'draining leader': () => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.passTo(30)
    return elector
  },
  'releasing leader': () => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.send({ kind: 'drained' })
    return elector
  },
}

test.each(Object.entries(ELECTORS))(
  'a %s survives every record that others can write, and acts on none',
  (_name, make) => {
    const numRuns = Math.ceil(RECORDS / RECORDS_PER_RUN / Object.keys(ELECTORS).length)
    const records = fc.array(fc.record({ record, deleting: fc.boolean(), ms: fc.integer({ min: 0, max: 5000 }) }), {
      minLength: RECORDS_PER_RUN,
      maxLength: RECORDS_PER_RUN,
    })
    fc.assert(
      fc.property(records, (sights) => {
        const elector = make()
        const answers = elector.all('write').flatMap(({ write }) => readAnswer(write.record)?.nonce ?? [])
        let version = 10n
        for (const { record, deleting, ms } of sights) {
          elector.passTo(elector.now + ms)
          const begun = elector.all('begin-term').length
          version += 1n
          elector.observe({ kind: 'present', version, record, deleting })
          watchedHolder(elector.state, elector.config)
          if (elector.all('begin-term').length === begun) continue
          const isTransfer = record.holderIdentity === ME && answers.includes(readTransferNonce(record) ?? '')
          const isOwn = elector.all('write').some(({ write }) => write.record.renewTime === record.renewTime)
          expect(isTransfer || isOwn).toBe(true)
        }
      }),
      { numRuns, seed: 20_260_103 },
    )
  },
)

test('notes that nobody wrote properly are no notes', () => {
  fc.assert(
    fc.property(record, (wild) => {
      const { holderIdentity, acquireTime } = wild
      for (const read of [readOffer, readAnswer, readTransferNonce, readProcessRef, readStandbys]) read(wild)
      const isBound = [readOffer, readAnswer, readTransferNonce, readProcessRef].some(
        (read) => read(wild) !== undefined,
      )
      if (isBound) expect(holderIdentity !== '' && acquireTime !== undefined).toBe(true)
    }),
    { numRuns: RECORDS / 5, seed: 20_260_104 },
  )
})
