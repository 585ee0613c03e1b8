/** The value of a field of a protobuf message: a number or bytes. */
export type WireValue = bigint | Buffer

/** Reads the fields of one protobuf message in order. @throws RangeError for a truncated or malformed message */
export class ProtobufReader implements Iterable<[number, WireValue]> {
  readonly #bytes: Buffer

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  *[Symbol.iterator](): Generator<[number, WireValue]> {
    let at = 0
    const varint = (): bigint => {
      let value = 0n
      for (let shift = 0n; ; shift += 7n) {
        const byte = this.#bytes.readUInt8(at)
        at += 1
        value |= BigInt(byte & 0x7f) << shift
        if (byte < 0x80) return BigInt.asUintN(64, value)
        if (shift > 63n) throw new RangeError('a number has more than ten bytes')
      }
    }
    const take = (length: number): Buffer => {
      if (at + length > this.#bytes.length) throw new RangeError('a field is longer than its message')
      at += length
      return this.#bytes.subarray(at - length, at)
    }
    while (at < this.#bytes.length) {
      const tag = Number(varint())
      yield [tag >>> 3, readValue(tag & 7, varint, take)]
    }
  }
}

function readValue(wireType: number, varint: () => bigint, take: (length: number) => Buffer): WireValue {
  switch (wireType) {
    case 0:
      return varint()
    case 1:
      return take(8).readBigUInt64LE()
    case 2:
      return take(Number(varint()))
    case 5:
      return BigInt(take(4).readUInt32LE())
    default:
      throw new RangeError(`there is no wire type ${wireType}`)
  }
}
