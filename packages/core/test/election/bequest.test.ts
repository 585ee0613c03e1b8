import { describe, expect, test } from 'vitest'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { acquireRecord, releaseRecord } from '../../src/election/rules/records.ts'
import { readLegacy, withBequest } from '../../src/election/rules/bequest.ts'
import { lease, PureElector } from './pure-elector.ts'

const HELD = lease({ version: 1n }).record
const BEQUEST = { epoch: 7n, values: new Map([['janitor', '{"cursor":9}']]), versions: new Map([['pods', '12']]) }
const released = (held: LeaseRecord, bequest = BEQUEST): LeaseRecord =>
  releaseRecord(held, { wallTime: 5000, writeMs: 3, returning: undefined, bequest })
const { config } = new PureElector()
const acquired = (previous: LeaseRecord) => acquireRecord({ config, previous, wallTime: 9000 })
const annotated = (text: string): LeaseRecord => ({ ...HELD, annotations: { 'tenure.dev/bequest': text } })

describe('What a term leaves', () => {
  test('is what the next term reads', () => {
    expect(readLegacy(acquired(released(HELD)))).toEqual({
      values: new Map([['janitor', { epoch: 7n, value: { cursor: 9 } }]]),
      versions: new Map([['pods', '12']]),
    })
  })

  test('is not on a lease that no term bequeathed: no annotation is written', () => {
    const { annotations } = releaseRecord(HELD, { wallTime: 5000, writeMs: 3, returning: undefined })
    expect(Object.keys(annotations)).not.toContain('tenure.dev/bequest')
    expect(Object.keys(acquired({ ...HELD, annotations }).annotations)).not.toContain('tenure.dev/bequest')
  })

  test('stays when a replica acquires the lease and gives it back before its term', () => {
    const held = acquired(released(HELD))
    const again = acquired(releaseRecord(held, { wallTime: 12_000, writeMs: 3, returning: undefined }))
    expect(readLegacy(again)).toEqual(readLegacy(held))
  })

  test('keeps the values of the latest terms when there are more than fit', () => {
    const values = (from: number) =>
      new Map(Array.from({ length: 8 }, (_, index) => [`c${from + index}`, JSON.stringify('x'.repeat(4094))] as const))
    const older = withBequest(HELD, HELD, { ...BEQUEST, epoch: 1n, values: values(0) })
    const newer = withBequest(HELD, older, { ...BEQUEST, epoch: 2n, values: values(7) })
    expect([...readLegacy(newer).values.keys()].toSorted()).toEqual([...values(7).keys()].toSorted())
  })

  test('has unknown versions where they take more than 2048 bytes as JSON', () => {
    const versions = (bytes: number) => new Map([['p'.repeat(bytes - '{"":"1"}'.length), '1']])
    const left = (bytes: number) =>
      readLegacy(withBequest(HELD, HELD, { ...BEQUEST, versions: versions(bytes) })).versions
    expect(left(2048)).toEqual(versions(2048))
    expect(left(2049)).toBeUndefined()
  })

  test.each([
    '',
    'null',
    '[]',
    '7',
    '{',
    '{"values":[]}',
    '{"values":{"a":1}}',
    '{"values":{"a":{"epoch":1,"value":1}}}',
    '{"values":{"a":{"epoch":"-1","value":1}}}',
    '{"values":{"a":{"epoch":"1"}}}',
    `{"values":{"a":{"epoch":"${'9'.repeat(40)}","value":1}}}`,
  ])('is nothing where the annotation says %.60s', (text) => {
    expect(readLegacy(annotated(text))).toEqual({ values: new Map(), versions: undefined })
  })

  test('has versions for the next term only if the lease was released with them', () => {
    expect(readLegacy(acquired(withBequest(HELD, HELD, BEQUEST)))).toMatchObject({ versions: undefined })
    expect(readLegacy(acquired({ ...released(HELD), acquireTime: 'later' })).versions).toBeUndefined()
    expect(readLegacy(acquired(released(HELD))).versions).toEqual(BEQUEST.versions)
  })

  test('may be versions without a value, or values without a version', () => {
    const [values, versions] = [BEQUEST.values, BEQUEST.versions]
    const left = (change: Partial<typeof BEQUEST>) => readLegacy(acquired(released(HELD, { ...BEQUEST, ...change })))
    expect(left({ values: new Map() })).toEqual({ values: new Map(), versions })
    expect(left({ versions: new Map() })).toMatchObject({ versions: new Map() })
    expect([...left({ versions: new Map() }).values.keys()]).toEqual([...values.keys()])
  })

  test('has versions only for the record that they name, by its holder and its acquire time, and values for every one', () => {
    const left = withBequest(HELD, HELD, { ...BEQUEST, epoch: 12n })
    const values = new Map([['janitor', { epoch: 12n, value: { cursor: 9 } }]])
    expect(readLegacy(left)).toEqual({ values, versions: BEQUEST.versions })
    const timeless: LeaseRecord = { ...HELD, acquireTime: undefined }
    for (const other of [
      { ...left, holderIdentity: 'third' },
      { ...left, acquireTime: 'later' },
      withBequest(timeless, timeless, { ...BEQUEST, epoch: 12n }),
      withBequest(left, { ...left, acquireTime: 'later' }, undefined),
    ]) {
      expect(readLegacy(other)).toEqual({ values, versions: undefined })
    }
    expect(readLegacy(withBequest(left, left, undefined)).versions).toEqual(BEQUEST.versions)
  })

  test.each(['7', '[]', '{"pods":7}', '{"pods":"x"}', '{"pods":"-1"}', '{"pods":"1","jobs":null}'])(
    'has unknown versions where the annotation says %s',
    (versions) => {
      const { holderIdentity: holder, acquireTime: of } = HELD
      const text = (own: string) => `{"holder":"${holder}","of":"${of}","values":{},"versions":${own}}`
      expect(readLegacy(annotated(text('{"pods":"1"}'))).versions).toEqual(new Map([['pods', '1']]))
      expect(readLegacy(annotated(text(versions))).versions).toBeUndefined()
    },
  )
})
