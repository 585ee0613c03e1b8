import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { numberField, quoted, textField, timeText, versionText } from '../../src/election/trace/json-text.ts'
import { traceRecordOf } from '../../src/election/trace/trace-record.ts'
import { withAnswer, withOffer, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
import { lease } from './pure-elector.ts'

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
    expect(timeText(Infinity)).toBe('null')
  })

  test('has versions of any size', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 64n }), (version) => {
        expect(BigInt(JSON.parse(versionText(version)) as number | string)).toBe(version)
      }),
    )
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
