import { jsonForm } from './json-form.ts'

/** The base of every error that Tenure throws. */
export abstract class TenureError extends Error {
  /** Stable and meant for programs, unlike the message. */
  abstract readonly code: string

  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = new.target.name
  }

  /** What `JSON.stringify()` takes: name, message, code, the fields of the error, its cause. Bigints are decimal strings. */
  toJSON(): unknown {
    return jsonForm(this)
  }
}
