import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { LineDecoder } from '../src/reflector/line-decoder.ts'
import { WatchInterruptedError } from '../src/reflector/watch-interrupted-error.ts'

/** Cuts bytes at the given positions. */
function cut(bytes: Buffer, positions: readonly number[]): Buffer[] {
  const ends = [...positions.map((position) => position % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

describe('a line decoder', () => {
  test('returns the same lines wherever the stream is cut, also inside characters', () => {
    const line = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => !text.includes('\n') && text.trim() !== '')
    fc.assert(
      fc.property(fc.array(line), fc.array(fc.nat()), (lines, positions) => {
        const decoder = new LineDecoder()
        const bytes = Buffer.from(lines.map((text) => `${text}\n`).join(''))
        expect(cut(bytes, positions).flatMap((chunk) => decoder.push(chunk))).toEqual(lines)
      }),
    )
  })

  test('keeps a line that has not ended until it does', () => {
    const decoder = new LineDecoder()
    expect(decoder.push(Buffer.from('{"type":'))).toEqual([])
    expect(decoder.push(Buffer.from('"ADDED"}\n{'))).toEqual(['{"type":"ADDED"}'])
  })

  test('skips empty lines', () => {
    expect(new LineDecoder().push(Buffer.from('\n \r\na\n\n'))).toEqual(['a'])
  })

  test('takes a line of megabytes', () => {
    const decoder = new LineDecoder()
    const chunk = Buffer.alloc(64 * 1024, 'x')
    for (let sent = 0; sent < 100; sent++) expect(decoder.push(chunk)).toEqual([])
    expect(decoder.push(Buffer.from('\n'))[0]).toHaveLength(100 * chunk.byteLength)
  })

  test('takes a line of 16 MB, and refuses a longer one', () => {
    const decoder = new LineDecoder()
    const chunk = Buffer.alloc(1024 * 1024, 'x')
    for (let sent = 0; sent < 16; sent++) expect(decoder.push(chunk)).toEqual([])
    expect(() => decoder.push(Buffer.from('x'))).toThrow(
      new WatchInterruptedError('The watch sent a line of more than 16777216 bytes'),
    )
  })
})
