import { describe, expect, test } from 'vitest'
import { OptionsError } from '../../src/options/options-error.ts'

describe('The message of a wrong option', () => {
  test.each([
    ['a line end', 'a\nb\r\nc', String.raw`a\nb\r\nc`],
    ['a sequence that colours a terminal', '\u001B[31mred', String.raw`\u001b[31mred`],
    ['a zero, and a delete', '\0\u007F', String.raw`\u0000\u007f`],
    ['a line end of Unicode, and a change of direction', '\u2028\u202E', String.raw`\u2028\u202e`],
    ['nothing of this', 'zürich "1" \\ 東', 'zürich "1" \\ 東'],
  ])('is one line of visible characters where the value has %s', (_, value, shown) => {
    expect(OptionsError.expected('`zone` to be a name', value).message).toBe(
      `Expected \`zone\` to be a name, got \`${shown}\` (string)`,
    )
    expect(new OptionsError(`Expected one lease, got \`${value}\` twice`).message).toBe(
      `Expected one lease, got \`${shown}\` twice`,
    )
  })

  test('shows the beginning of a long value', () => {
    const { message } = OptionsError.expected('`zone` to be a name', 'x'.repeat(10_000), { remedy: 'Shorten it' })
    expect(message).toBe(`Expected \`zone\` to be a name, got \`${'x'.repeat(200)}…\` (string). Shorten it`)
  })
})
