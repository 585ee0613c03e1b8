/** Values that break code which converts, reads or compares them, by their effect. Each call makes a new value. */
export const HOSTILE_VALUES: Readonly<Record<string, () => unknown>> = {
  'an object without a prototype': () => Object.assign(Object.create(null), { data: null }),
  'a Proxy that throws at everything': () => new Proxy({}, throwingTraps()),
  'a Proxy of an error that throws at everything': () => new Proxy(new Error('inner'), throwingTraps()),
  'a revoked Proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    return proxy
  },
  'an error whose fields throw': () => withGetters(new Error('inner'), ['name', 'message', 'stack', 'cause', 'code']),
  'an AbortError whose cause throws': () => withGetters(Object.assign(new Error('x'), { name: 'Error' }), ['cause']),
  'an error whose message is no text': () => Object.assign(new Error('x'), { message: Object.create(null) }),
  'an error whose message is a number': () => Object.assign(new Error('x'), { message: 7 }),
  'an error whose name is a number': () => Object.assign(new Error('x'), { name: 7 }),
  'an error whose stack is no text': () => Object.assign(new Error('x'), { stack: 7 }),
  'an error whose message throws the second time': () => {
    let reads = 0
    return Object.defineProperty(new Error('x'), 'message', {
      get: () => {
        if (++reads > 1) throw new Error('no second time')
        return 'once'
      },
    })
  },
  'an AggregateError that holds itself': () => {
    const error = new AggregateError([])
    error.errors.push(error, Object.create(null))
    return error
  },
  'an object whose conversions throw': () => ({
    toString: fail,
    valueOf: fail,
    [Symbol.toPrimitive]: fail,
    toJSON: fail,
  }),
  'an object whose tag throws': () => withGetters({}, [Symbol.toStringTag, 'constructor']),
  'a function whose name throws': () => withGetters(() => {}, ['name', 'toString']),
  'a thenable that throws': () => withGetters({}, ['then']),
  'a symbol': () => Symbol('hostile'),
  'a bigint': () => 7n,
  nothing: () => undefined,
  null: () => null,
}

/** @throws Error always. */
function fail(): never {
  throw Object.assign(Object.create(null), { hostile: true })
}

function withGetters<T extends object>(value: T, keys: readonly PropertyKey[]): T {
  for (const key of keys) Object.defineProperty(value, key, { get: fail, configurable: true })
  return value
}

function throwingTraps(): ProxyHandler<object> {
  return new Proxy({}, { get: () => fail })
}
