/** A value that the model checker prints: records and functions as objects, sequences and sets as arrays, names as strings. */
type TlaValue = boolean | number | string | readonly TlaValue[] | { readonly [field: string]: TlaValue }

/** Reads the values of all variables of a state, as the model checker prints them. */
export function parseState(text: string): Readonly<Record<string, TlaValue>> {
  const reader = new Reader(text)
  const variables: Record<string, TlaValue> = {}
  while (reader.skip('/\\')) {
    const name = reader.word()
    reader.expect('=')
    variables[name] = reader.value()
  }
  return variables
}

const SPACE = /\s*/y
const WORD = /[A-Za-z0-9_]+/y
const TEXT = /"([^"]*)"/y

class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(): TlaValue {
    if (this.skip('<<')) return this.#listUntil('>>')
    if (this.skip('{')) return this.#listUntil('}')
    if (this.skip('[')) return this.#record()
    if (this.skip('(')) return this.#function()
    const text = this.#match(TEXT)
    if (text !== undefined) return text.slice(1, -1)
    const word = this.word()
    if (word === 'TRUE' || word === 'FALSE') return word === 'TRUE'
    return /^\d+$/.test(word) ? Number(word) : word
  }

  word(): string {
    const word = this.#match(WORD)
    if (word === undefined) throw new Error(`Expected a name at \`${this.#text.slice(this.#at, this.#at + 40)}\``)
    return word
  }

  skip(token: string): boolean {
    this.#match(SPACE)
    if (!this.#text.startsWith(token, this.#at)) return false
    this.#at += token.length
    return true
  }

  expect(token: string): void {
    if (!this.skip(token)) {
      throw new Error(`Expected \`${token}\` at \`${this.#text.slice(this.#at, this.#at + 40)}\``)
    }
  }

  #listUntil(end: string): readonly TlaValue[] {
    const list: TlaValue[] = []
    while (!this.skip(end)) {
      if (list.length > 0) this.expect(',')
      list.push(this.value())
    }
    return list
  }

  #record(): TlaValue {
    const record: Record<string, TlaValue> = {}
    do {
      const field = this.word()
      this.expect('|->')
      record[field] = this.value()
    } while (this.skip(','))
    this.expect(']')
    return record
  }

  #function(): TlaValue {
    const result: Record<string, TlaValue> = {}
    do {
      const key = this.word()
      this.expect(':>')
      result[key] = this.value()
    } while (this.skip('@@'))
    this.expect(')')
    return result
  }

  #match(pattern: RegExp): string | undefined {
    if (pattern !== SPACE) this.#match(SPACE)
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }
}
