// Asks the endpoint's own pages. An error has the endpoint's words.

import { answered, change } from "./session.js";

/** The JSON of a page below `/_torpor/`, with these query parameters. */
export async function json(page, parameters = {}, options = {}) {
  const query = new URLSearchParams(parameters).toString();
  const url = `/_torpor/${page}${query && `?${query}`}`;
  const answer = options.method === undefined ? answered(await fetch(url, options)) : await change(url, options);
  if (!answer.ok) throw new Error((await answer.text()) || `HTTP ${answer.status}`);
  return answer.json();
}
