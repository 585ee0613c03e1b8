/** The DER types (ITU-T X.690) that a certificate needs. Each function returns one complete encoded element. */

function element(tag: number, content: Buffer): Buffer {
  const length = content.length
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  if (length < 0x100) return Buffer.concat([Buffer.from([tag, 0x81, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}

/** SEQUENCE of complete elements. */
export function sequence(...items: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(items))
}

/** SET of complete elements. */
export function set(...items: Buffer[]): Buffer {
  return element(0x31, Buffer.concat(items))
}

/** A non-negative INTEGER from its bytes, most significant first. */
export function unsignedInteger(bytes: Buffer): Buffer {
  const padded = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes
  return element(0x02, padded)
}

/** OBJECT IDENTIFIER from its dotted form. */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest.flatMap(base128)]
  return element(0x06, Buffer.from(bytes))
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f]
  for (let left = value >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | 0x80)
  return bytes
}

/** UTF8String. */
export function utf8String(text: string): Buffer {
  return element(0x0c, Buffer.from(text, 'utf8'))
}

/** BOOLEAN true. */
export function booleanTrue(): Buffer {
  return element(0x01, Buffer.from([0xff]))
}

/** OCTET STRING. */
export function octetString(content: Buffer): Buffer {
  return element(0x04, content)
}

/** BIT STRING whose last `unusedBits` bits are padding. */
export function bitString(content: Buffer, unusedBits = 0): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([unusedBits]), content]))
}

/** UTCTime through 2049, GeneralizedTime from 2050 (RFC 5280), in whole seconds. */
export function time(date: Date): Buffer {
  const digits = date.toISOString().replaceAll(/[-:T]|\.\d+/g, '')
  return date.getUTCFullYear() < 2050 ? element(0x17, Buffer.from(digits.slice(2))) : element(0x18, Buffer.from(digits))
}

/** An element tagged [number] that wraps another element. */
export function explicit(number: number, content: Buffer): Buffer {
  return element(0xa0 | number, content)
}

/** A primitive element tagged [number] in place of its own tag. */
export function implicit(number: number, content: Buffer): Buffer {
  return element(0x80 | number, content)
}
