// Values as text for a person: three figures are enough to compare.

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const time = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export const NONE = "–";

/** `1,234` */
export const count = (value) => number.format(value);

/** `1 model`, `2 models` */
export const counted = (value, thing) => `${count(value)} ${thing}${value === 1 ? "" : "s"}`;

/** Three significant figures, without an exponent: `0.0123`, `1.23`, `123`, `1,234`. */
export function figures(value) {
  if (value === 0) return "0";
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 20) });
}

/** `512 KiB`, `1.5 GiB` */
export function bytes(value) {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let size = value;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return unit === 0 ? `${count(size)} bytes` : `${figures(size)} ${units[unit]}`;
}

/** A duration: `0.21 ms`, `340 ms`, `2.5 s`, `4.2 min`, `3.1 h`. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1) return `${figures(seconds * 1000)} ms`;
  if (seconds < 120) return `${figures(seconds)} s`;
  if (seconds < 7200) return `${figures(seconds / 60)} min`;
  return `${figures(seconds / 3600)} h`;
}

/** A duration in whole units: `12 s`, `5 min`, `3 h`, `4 days`. */
export function roughly(seconds) {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172800) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86400)} days`;
}

/** How long ago, roughly: `now`, `12 s ago`. */
export const ago = (seconds) => (seconds < 2 ? "now" : `${roughly(seconds)} ago`);

/** `95.2 %` */
export const percent = (share) => (share === null ? NONE : `${figures(Math.round(share * 1000) / 10)} %`);

/** `$0.0123`; a price that is not known is a dash. */
export function dollars(usd) {
  if (usd === null || usd === undefined) return NONE;
  if (usd !== 0 && Math.abs(usd) < 0.0001) return "< $0.0001";
  return `$${Math.abs(usd) >= 100 ? count(usd) : figures(usd)}`;
}

/** The time of day, with the date if it is not today's. `at` is epoch seconds. */
export function moment(at, now = Date.now() / 1000) {
  const date = new Date(at * 1000);
  const today = date.toDateString() === new Date(now * 1000).toDateString();
  return today ? time.format(date) : `${day.format(date)} ${time.format(date)}`;
}

/** A model's name as a person reads it: the artifact's suffix says nothing. */
export const modelName = (name) => name.replace(/\.tar(\.gz)?$/, "");
