/* A page without a map is ready once its lists are. */
settle(Promise.resolve());
