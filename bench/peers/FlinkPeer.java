import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.api.connector.source.lib.NumberSequenceSource;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.cep.pattern.Pattern;
import org.apache.flink.cep.pattern.conditions.IterativeCondition;
import org.apache.flink.cep.pattern.conditions.SimpleCondition;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.util.Collector;

/**
 * Flink CEP over events that lie in memory. The clock starts when the source gives its first event and stops when
 * the operator of the pattern has closed: neither the start of the cluster nor of the job is in it.
 *
 * <p>usage: FlinkPeer TASKS BUDGET. A line of TASKS is "WORKLOAD EVENTS.csv WINDOW FIRST MATCHES.txt"; with "-" in the place of
 * MATCHES.txt they are counted only. The first FIRST events are matched, then twice as many, and so on, as long as the
 * time that it takes is likely to stay within BUDGET seconds; the largest size is run once more, for the JVM has learnt meanwhile. Each run is
 * a line of JSON. Instants are Flink's milliseconds, whatever they are in the data.
 */
public final class FlinkPeer {
    static final long WATERMARKS_EVERY = 5; // milliseconds; 200 by default

    /** One event, with all columns that any workload has. */
    public static final class Event {
        public int id;
        public long ts;
        public String kind;
        public long key;
        public double price;
        public double volume;
    }

    static Event[] events;
    static volatile long begun;
    static volatile long ended;
    static long matches;
    static long matchedEvents;
    static List<String> written; // null: matches are counted only

    public static void main(String[] given) throws Exception {
        double budget = Double.parseDouble(given[1]);
        for (String line : Files.readAllLines(Path.of(given[0]))) {
            String[] task = line.split(" ");
            events = read(Path.of(task[1]));
            written = task[4].equals("-") ? null : new ArrayList<>();
            grow(task[0], Duration.ofMillis(Long.parseLong(task[2])), Integer.parseInt(task[3]), budget);
            if (written != null) {
                Files.write(Path.of(task[4]), written);
            }
        }
        System.exit(0); // threads of the cluster linger
    }

    static void grow(String workload, Duration window, int first, double budget) throws Exception {
        int size = Math.min(first, events.length);
        double seconds = told(workload, window, size);
        double growth = 2;
        while (size < events.length && growth * seconds <= budget) {
            size = (int) Math.min(2L * size, events.length);
            double before = seconds;
            seconds = told(workload, window, size);
            growth = Math.max(2, seconds / before); // within the first window the cost of an event grows
        }
        told(workload, window, size);
    }

    static double told(String workload, Duration window, int size) throws Exception {
        double seconds = run(workload, window, size);
        System.out.printf(
                Locale.ROOT,
                "{\"workload\": \"%s\", \"events\": %d, \"seconds\": %.6f, \"matches\": %d, \"matched_events\": %d}%n",
                workload, size, seconds, matches, matchedEvents);
        System.out.flush();
        return seconds;
    }

    static Event[] read(Path file) throws Exception {
        List<Event> found = new ArrayList<>();
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] cells = line.split(",");
                Event e = new Event();
                e.id = found.size();
                e.ts = Long.parseLong(cells[0]);
                e.kind = cells[1].intern();
                e.key = Long.parseLong(cells[2]);
                e.price = Double.parseDouble(cells[3]);
                e.volume = Double.parseDouble(cells[4]);
                found.add(e);
            }
        }
        return found.toArray(new Event[0]);
    }

    static double run(String workload, Duration window, int size) throws Exception {
        matches = 0;
        matchedEvents = 0;
        if (written != null) {
            written.clear();
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.createLocalEnvironment(1, new Configuration());
        env.getConfig().setAutoWatermarkInterval(WATERMARKS_EVERY);
        env.getConfig().enableObjectReuse();
        DataStream<Event> stream =
                env.fromSource(
                                new NumberSequenceSource(0, size - 1),
                                WatermarkStrategy.noWatermarks(),
                                "numbers",
                                Types.LONG)
                        .map(new Preloaded())
                        .returns(Event.class)
                        .assignTimestampsAndWatermarks(
                                WatermarkStrategy.<Event>forMonotonousTimestamps()
                                        .withTimestampAssigner((e, before) -> e.ts));
        if (!workload.startsWith("abc")) {
            stream = stream.keyBy(e -> e.key);
        }
        SingleOutputStreamOperator<Long> found =
                CEP.pattern(stream, pattern(workload).within(window)).process(new Counting());
        found.sinkTo(new DiscardingSink<>());
        env.execute(workload);
        return (ended - begun) / 1e9;
    }

    // ------------------------------------------------------------------ patterns

    static Pattern<Event, Event> pattern(String workload) {
        String[] words = workload.split("/");
        switch (words[0]) {
            case "w1":
                return rising(words[1].equals("contiguity"), words[2]);
            case "clicks":
                return kind(Pattern.<Event>begin("a"), "view")
                        .followedBy("b").where(SimpleCondition.of(e -> e.kind.equals("cart")))
                        .followedBy("c").where(SimpleCondition.of(e -> e.kind.equals("buy")));
            case "abc":
                return kind(Pattern.<Event>begin("a"), "A")
                        .followedByAny("b").where(after("a", "B"))
                        .followedByAny("c").where(after("b", "C"));
            case "v":
                return Pattern.<Event>begin("p")
                        .next("a").where(moved("p", "p", (now, then) -> now >= then))
                        .next("d").where(moved("d", "a", (now, then) -> now < then)).oneOrMore().consecutive()
                        .next("u").where(moved("u", "d", (now, then) -> now > then)).oneOrMore().consecutive();
            default:
                throw new IllegalArgumentException(workload);
        }
    }

    /** The template of the SASE+ paper's experiments. Its first event is a step of its own: conditions stay simple. */
    static Pattern<Event, Event> rising(boolean contiguous, String iterator) {
        Pattern<Event, Event> first = Pattern.<Event>begin("a1").where(SimpleCondition.of(e -> e.price % 500 == 0));
        IterativeCondition<Event> grows = iteratorPredicate(iterator);
        SimpleCondition<Event> last = SimpleCondition.of(e -> e.volume < 150);
        if (contiguous) {
            return first.next("a").where(grows).oneOrMore().consecutive().optional().next("b").where(last);
        }
        return first.followedBy("a").where(grows).oneOrMore().optional().followedBy("b").where(last);
    }

    static IterativeCondition<Event> iteratorPredicate(String name) {
        switch (name) {
            case "true":
                return SimpleCondition.of(e -> true);
            case "rising":
                return moved("a", "a1", (now, then) -> now > then);
            case "min":
                return new Iterated((now, before) -> {
                    double least = Double.MAX_VALUE;
                    for (Event e : before) {
                        least = Math.min(least, e.price);
                    }
                    return now.price > least;
                });
            default:
                throw new IllegalArgumentException(name);
        }
    }

    static Pattern<Event, Event> kind(Pattern<Event, Event> step, String kind) {
        return step.where(SimpleCondition.of(e -> e.kind.equals(kind)));
    }

    interface Compared extends java.io.Serializable {
        boolean holds(double now, double then);
    }

    interface Tested extends java.io.Serializable {
        boolean holds(Event now, Iterable<Event> before);
    }

    /** The price compared with that of the last event of a loop, or, where it has none yet, of the step before. */
    static IterativeCondition<Event> moved(String loop, String before, Compared compared) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event now, Context<Event> context) throws Exception {
                Event last = null;
                for (Event e : context.getEventsForPattern(loop)) {
                    last = e;
                }
                if (last == null) {
                    for (Event e : context.getEventsForPattern(before)) {
                        last = e;
                    }
                }
                return compared.holds(now.price, last.price);
            }
        };
    }

    static IterativeCondition<Event> after(String before, String kind) {
        return new IterativeCondition<>() {
            @Override
            public boolean filter(Event now, Context<Event> context) throws Exception {
                if (!now.kind.equals(kind)) {
                    return false;
                }
                return context.getEventsForPattern(before).iterator().next().price < now.price;
            }
        };
    }

    /** A predicate on the event at hand and all that a[1..i-1] holds. */
    static final class Iterated extends IterativeCondition<Event> {
        final Tested tested;

        Iterated(Tested tested) {
            this.tested = tested;
        }

        @Override
        public boolean filter(Event now, Context<Event> context) throws Exception {
            return tested.holds(now, context.getEventsForPattern("a1"))
                    || tested.holds(now, context.getEventsForPattern("a"));
        }
    }

    // ------------------------------------------------------------------ in and out

    static final class Preloaded extends RichMapFunction<Long, Event> {
        @Override
        public Event map(Long number) {
            if (number == 0) {
                begun = System.nanoTime();
            }
            return events[number.intValue()];
        }
    }

    static final class Counting extends PatternProcessFunction<Event, Long> {
        @Override
        public void open(OpenContext context) {
            ended = 0;
        }

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            matches++;
            for (List<Event> bound : match.values()) {
                matchedEvents += bound.size();
            }
            if (written != null) {
                written.add(shown(match));
            }
        }

        @Override
        public void close() {
            ended = System.nanoTime();
        }

        private static String shown(Map<String, List<Event>> match) {
            StringJoiner events = new StringJoiner(" ");
            for (List<Event> bound : match.values()) {
                bound.forEach(e -> events.add(Integer.toString(e.id)));
            }
            return events.toString();
        }
    }

    private FlinkPeer() {}
}
