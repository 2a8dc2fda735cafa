/** The ready page: the address follows the tab that was chosen, so that it can be shared. */

addEventListener("leaderboard-window", ({ detail }) => {
  const address = new URL(location.href);
  address.searchParams.set("window", detail.window);
  history.replaceState(null, "", address);
});
