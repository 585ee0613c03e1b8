import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { numberField, quoted, textField, timeText, versionText } from '../../src/election/trace/json-text.ts'
import { actsText, lineText } from '../../src/election/trace/line-text.ts'
import { traceRecordOf } from '../../src/election/trace/trace-record.ts'
import { withAnswer, withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import type { ElectorEvent } from '../../src/election/machine/event.ts'
import { ABSENT, CONFIG, failed, lease } from './pure-elector.ts'

const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('\ud800', '"', '\\', '\u0000', '\u2028'),
)

describe('The JSON of a trace', () => {
  test('has strings as `JSON.stringify` has them', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(quoted(text)).toBe(JSON.stringify(text))
      }),
    )
  })

  test('has times to the microsecond', () => {
    fc.assert(
      fc.property(fc.double({ min: -1e9, max: 1e12, noNaN: true }), (ms) => {
        expect(Number(JSON.parse(timeText(ms))) + 0).toBe(Math.round(ms * 1000) / 1000 + 0)
      }),
    )
    expect([1.5, 2, 0, 0.000_4, -1.5, -0.5].map(timeText)).toEqual(['1.500', '2', '0', '0', '-1.5', '-0.5'])
    expect(timeText(Infinity)).toBe('null')
  })

  test('has versions of any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n }), (version) => {
        expect(BigInt(JSON.parse(versionText(version)) as number | string)).toBe(version)
      }),
    )
    const greatest = BigInt(Number.MAX_SAFE_INTEGER)
    expect(versionText(greatest)).toBe('9007199254740991')
    expect(versionText(greatest + 1n)).toBe('"9007199254740992"')
  })

  test('has no field for what is absent', () => {
    expect(textField('a', undefined) + numberField('b', undefined)).toBe('')
    expect(`{"c":0${textField('a', '"')}${numberField('b', Number.NaN)}}`).toBe(
      JSON.stringify({ c: 0, a: '"', b: Number.NaN }),
    )
  })

  test('has everything of a record that the checker reads', () => {
    const { record } = lease({ version: 1n, holderIdentity: 'a"b', preferredHolder: 'c' })
    const noted = withTransferNonce(
      withAnswer(withOffer(record, { to: undefined }), { identity: 'd', nonce: 'e' }),
      'f',
    )
    expect(traceRecordOf(withLeastEpoch(noted, 7n))).toEqual({
      h: 'a"b',
      d: record.leaseDurationSeconds,
      a: record.acquireTime,
      r: record.renewTime,
      n: record.leaseTransitions,
      p: 'c',
      e: 7,
      x: 'f',
      y: ['d', 'e'],
      o: true,
    })
    expect(traceRecordOf({ holderIdentity: '', annotations: {} } as never)).toEqual({ h: '' })
  })
})

describe('A line of a trace', () => {
  const seen = lease({ version: 8n })
  const { record } = seen
  const recorded = JSON.stringify({
    h: 'other',
    d: 15,
    a: record.acquireTime,
    r: record.renewTime,
    n: 3,
  })
  const place = { p: 1, n: 2, machineMs: 3, apartMs: 0, hasWall: false }

  function line(event: ElectorEvent, change: Partial<typeof place> = {}, acts = '', coordination?: 'server'): string {
    const elector = {
      lock: 'lease',
      clock: { now: () => 0, wallTime: () => 0, setTimer: () => ({ cancel: () => {} }) },
    }
    const at = { now: 4, wallTime: 5.4, random: 0 }
    const state = { kind: 'stopped', memory: {} as never } as const
    const config = coordination === undefined ? CONFIG : { ...CONFIG, coordination }
    return lineText({ elector, at, event, state, effects: [], config }, { ...place, ...change }, acts)
  }

  test('has its place, its times, its event, its state and its acts', () => {
    expect(line({ kind: 'wake' })).toBe('{"p":1,"n":2,"m":3,"t":4,"e":"wake","s":"stopped"}')
    expect(line({ kind: 'wake' }, { apartMs: 1, hasWall: true }, '{"u":"wedged"}', 'server')).toBe(
      '{"p":1,"n":2,"m":3,"j":1.002,"t":4,"w":5,"e":"wake","s":"stopped","c":"server","d":[{"u":"wedged"}]}',
    )
  })

  const events: readonly (readonly [ElectorEvent, string])[] = [
    [{ kind: 'observed', snapshot: ABSENT }, ''],
    [{ kind: 'observed', snapshot: { kind: 'absent', version: 7n } }, ',"v":7'],
    [{ kind: 'observed', snapshot: seen }, `,"v":8,"r":${recorded}`],
    [{ kind: 'observed', snapshot: { ...seen, epoch: 8n } }, `,"v":8,"r":${recorded}`],
    [
      { kind: 'observed', snapshot: { ...seen, epoch: 9n, deleting: true, replaced: record } },
      `,"v":8,"k":9,"r":${recorded},"x":true,"g":${recorded}`,
    ],
    [{ kind: 'write-answer', request: 5, result: { kind: 'written', lease: seen } }, `,"q":5,"v":8,"r":${recorded}`],
    [{ kind: 'write-answer', request: 5, result: failed('conflict') }, ',"q":5,"f":"conflict"'],
    [{ kind: 'read-answer', request: 5, result: { kind: 'read', snapshot: ABSENT } }, ',"q":5'],
    [{ kind: 'read-answer', request: 5, result: failed('forbidden') }, ',"q":5,"f":"forbidden"'],
    [{ kind: 'holder-dead', holder: { identity: 'other', acquireTime: 'then' } }, ',"h":"other","a":"then"'],
  ]

  test('says of an event what the checker reads', () => {
    for (const [event, expected] of events) {
      expect(line(event)).toBe(`{"p":1,"n":2,"m":3,"t":4,"e":"${event.kind}","s":"stopped"${expected}}`)
    }
  })

  test('has of the effects those that the checker reads', () => {
    const effects: readonly ElectorEffect[] = [
      { kind: 'leader-observed', identity: 'other' },
      { kind: 'write', request: 5, write: { purpose: 'acquire', record } },
      { kind: 'write', request: 6, write: { purpose: 'renew', base: seen, record: { ...record } } },
      { kind: 'write', request: 7, write: { purpose: 'renew', base: seen, record } },
      { kind: 'read', request: 8 },
      { kind: 'warm-up' },
      {
        kind: 'begin-term',
        epoch: 9n,
        validUntil: 10,
        handoverMs: 0,
        legacy: { values: new Map(), versions: undefined },
      },
      { kind: 'extend-validity', validUntil: 11 },
      { kind: 'shorten-validity', validUntil: 12 },
      { kind: 'end-term', reason: 'step-down', voluntary: true },
      { kind: 'term-over', outcome: 'released', successor: undefined },
      { kind: 'close-gate' },
      { kind: 'hard-abort' },
      { kind: 'wedged' },
      { kind: 'exit' },
      { kind: 'identity-taken', identity: 'me' },
      { kind: 'stopped' },
    ]
    expect(actsText(effects)).toBe(
      [
        `{"u":"acquire","q":5,"r":${recorded}}`,
        `{"u":"renew","q":6,"b":8,"r":${recorded}}`,
        `{"u":"renew","q":7,"b":8,"r":${recorded},"i":true}`,
        '{"u":"read","q":8}',
        '{"u":"begin","k":9,"until":10}',
        '{"u":"until","until":11}',
        '{"u":"until","until":12}',
        '{"u":"end","why":"step-down","voluntary":true}',
        '{"u":"over","outcome":"released"}',
        ...['close-gate', 'hard-abort', 'wedged', 'exit', 'identity-taken', 'stopped'].map((u) => `{"u":"${u}"}`),
      ].join(','),
    )
    expect(actsText([{ kind: 'warm-up' }])).toBe('')
  })
})
