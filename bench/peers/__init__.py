"""Peers: other systems that answer the same question over the same data, in the same run.

    flink   Flink CEP, by a driver in Java (`FlinkPeer.java`), where its jars and a Java compiler are
    spark   plain PySpark, and Augury on the same session, where the `spark` extra is
    numpy   by hand (`bench.by_hand`): what is possible for who writes one pattern and no engine

A peer says where its answer is ours, and its count of matches is then compared; or says how it differs.
"""
